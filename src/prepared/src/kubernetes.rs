//! The folders of /etc/kubernetes: that of the running system, the shared one that a control plane
//! mounts, and those of other deployments.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use life::ClaimId;
use upgrade::names;

use crate::disk::{Disk, make_folders};
use crate::error::{Result, if_there};
use crate::folder::names as names_in;
use crate::machine::Machine;
use crate::paths::Paths;

/// What lets a kubelet start as the old Node, or start static pods.
const ALIVE: [&str; 2] = ["kubelet.conf", "bootstrap-kubelet.conf"];

/// The beginning of the name that a fenced folder has.
const ASIDE: &str = "kubernetes.careen-";

/// Each folder that a kubelet could read, in the running system or after another boot.
///
/// # Errors
/// The deployments cannot be listed.
pub fn folders(paths: &Paths) -> Result<Vec<PathBuf>> {
    let mut all = vec![shared(paths)];
    all.extend(paths.etcs()?.into_iter().map(|etc| etc.join("kubernetes")));
    Ok(all)
}

fn shared(paths: &Paths) -> PathBuf {
    paths.below(names::SHARED_KUBERNETES)
}

/// Whether a kubelet finds something there that it runs with.
///
/// # Errors
/// The folder cannot be read.
pub fn is_alive(folder: &Path) -> Result<bool> {
    let has_credential = ALIVE
        .iter()
        .any(|name| folder.join(name).symlink_metadata().is_ok());
    Ok(has_credential || !names_in(&folder.join("manifests"))?.is_empty())
}

/// Renames each folder that is alive. No kubelet starts without its credential, and no static pod
/// without its manifest.
///
/// # Errors
/// A folder may still be there.
pub fn put_aside(
    paths: &Paths,
    disk: &dyn Disk,
    machine: &mut dyn Machine,
    claim: &ClaimId,
) -> Result<()> {
    let is_mounted = is_mounted(paths)?;
    for folder in folders(paths)? {
        if is_alive(&folder)? && !(is_mounted && folder == paths.below(names::KUBERNETES)) {
            disk.rename(&folder, &free_name(&folder, claim))?;
        }
    }
    if is_mounted {
        // The mount still shows the folder under its new name.
        machine.unmount(&paths.below(names::KUBERNETES));
        let own = paths.below(names::KUBERNETES);
        if is_alive(&own)? && !self::is_mounted(paths)? {
            disk.rename(&own, &free_name(&own, claim))?;
        }
    }
    Ok(())
}

/// Whether /etc/kubernetes is a mount.
fn is_mounted(paths: &Paths) -> Result<bool> {
    let own = paths.below(names::KUBERNETES);
    let parent = paths.below("/etc");
    let device = |path: &Path| -> Result<Option<u64>> {
        let facts = if_there(fs::metadata(path), "looking at", path)?;
        Ok(facts.map(|facts| facts.dev()))
    };
    let differs = device(&own)?.is_some_and(|own| Some(own) != device(&parent).ok().flatten());
    let same = |path: &Path| {
        fs::metadata(path)
            .ok()
            .map(|facts| (facts.dev(), facts.ino()))
    };
    let is_shared = same(&own).is_some() && same(&own) == same(&shared(paths));
    Ok(differs || is_shared)
}

/// A name that nothing has. A kubelet that was still alive may have made the folder again.
fn free_name(folder: &Path, claim: &ClaimId) -> PathBuf {
    let name = |number: u32| folder.with_file_name(format!("{ASIDE}{}-{number}", claim.short()));
    let mut names = (0..u32::MAX).map(name);
    let free = names.find(|path| path.symlink_metadata().is_err());
    free.unwrap_or_else(|| name(u32::MAX))
}

/// The folders that a fence has put aside.
///
/// # Errors
/// A folder cannot be listed.
pub fn aside(paths: &Paths) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders(paths)? {
        let Some(parent) = folder.parent() else {
            continue;
        };
        let names = names_in(parent)?;
        let ours = names.iter().filter(|name| name.starts_with(ASIDE));
        found.extend(ours.map(|name| parent.join(name)));
    }
    Ok(found)
}

/// Makes the shared folder again if something mounts it: a mount without its source fails, and the
/// kubelet with it.
///
/// # Errors
/// The folder may not be on the disk.
pub fn make_shared_again(paths: &Paths, disk: &dyn Disk) -> Result<()> {
    let shared = shared(paths);
    let unit = paths
        .below("/etc/systemd/system")
        .join(names::KUBERNETES_MOUNT);
    if unit.is_file() && !shared.is_dir() {
        make_folders(disk, &shared)?;
    }
    Ok(())
}
