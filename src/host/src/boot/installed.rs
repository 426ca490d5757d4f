//! The deployments on the disk, and the running one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use upgrade::Deployment;
use upgrade::observe::STAGED;

use super::entries::{Entry, Link, entries};
use crate::Places;
use crate::error::{At, Error, Result};

/// A deployment with its boot entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The deployment.
    pub deployment: Deployment,
    /// Its folder.
    pub folder: PathBuf,
    /// Its entry.
    pub entry: Entry,
}

/// All deployments that have a boot entry, the default first.
///
/// # Errors
/// /boot and the physical root do not match.
pub fn deployments(places: &Places) -> Result<Vec<Installed>> {
    let folder = places.boot.join("loader");
    let mut found = Vec::new();
    for entry in entries(&folder)? {
        let Some(link) = entry.ostree() else { continue };
        let link: Link = link
            .parse()
            .map_err(|bad: upgrade::Malformed| Error::damaged(&folder, bad.to_string()))?;
        let (deployment, folder) = link.follow(&places.sysroot)?;
        found.push(Installed {
            deployment,
            folder,
            entry,
        });
    }
    Ok(found)
}

/// The deployments in the order of the boot entries, the default first.
///
/// # Errors
/// As [`deployments`].
pub fn default_first(places: &Places) -> Result<Vec<Deployment>> {
    let found = deployments(places)?;
    Ok(found
        .into_iter()
        .map(|installed| installed.deployment)
        .collect())
}

/// Whether another program has staged a system that the next shutdown makes the default, on the
/// system below `root`. A locked one waits until that program unlocks it (ostree-sysroot-private.h,
/// `_OSTREE_SYSROOT_RUNSTATE_STAGED_LOCKED`).
#[must_use]
pub fn is_staged(root: &Path) -> bool {
    let below = |path: &str| root.join(path.trim_start_matches('/'));
    below(STAGED).exists() && !below(&format!("{STAGED}-locked")).exists()
}

/// All deployments that a boot link of the physical root leads to, in no particular order. Needs no
/// /boot, which the initramfs may not see.
///
/// # Errors
/// The physical root cannot be listed.
pub fn linked(sysroot: &Path) -> Result<Vec<(Deployment, PathBuf)>> {
    let mut found = Vec::new();
    for version in ["boot.0", "boot.1"] {
        let top = sysroot.join("ostree").join(version);
        for stateroot in children(&top)? {
            for bootcsum in children(&stateroot)? {
                for serial in children(&bootcsum)? {
                    let Ok(below) = serial.strip_prefix(sysroot) else {
                        continue;
                    };
                    let Ok(link) = format!("/{}", below.display()).parse::<Link>() else {
                        continue;
                    };
                    // A link that leads nowhere is a leftover, not a deployment.
                    found.extend(link.follow(sysroot).ok());
                }
            }
        }
    }
    Ok(found)
}

/// The deployment that `root` is, by device and inode. The kernel argument does not tell which tree
/// was mounted, nor which of two trees with the same kernel was meant.
///
/// # Errors
/// No boot link leads to it.
pub fn booted(sysroot: &Path, root: &Path) -> Result<(Deployment, PathBuf)> {
    booted_among(&mut || linked(sysroot), sysroot, root)
}

/// Looks twice if nothing is found: while libostree swaps `boot.0` and `boot.1`, one look can be
/// too early for the one and too late for the other.
fn booted_among(
    linked: &mut dyn FnMut() -> Result<Vec<(Deployment, PathBuf)>>,
    sysroot: &Path,
    root: &Path,
) -> Result<(Deployment, PathBuf)> {
    let runs = identity(root)?;
    for _ in 0..2 {
        let mut all = linked()?.into_iter();
        if let Some(found) = all.find(|(_, folder)| identity(folder).is_ok_and(|one| one == runs)) {
            return Ok(found);
        }
    }
    Err(Error::damaged(
        root,
        format!("it is not a deployment below {}", sysroot.display()),
    ))
}

fn identity(path: &Path) -> Result<(u64, u64)> {
    let meta = fs::metadata(path).at("asking for", path)?;
    Ok((meta.dev(), meta.ino()))
}

/// The content of a folder; empty if there is no folder.
fn children(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).at("listing", folder),
    };
    let mut paths = Vec::new();
    for child in list {
        paths.push(child.at("listing", folder)?.path());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booted_deployment_is_found_when_its_link_moves_mid_lookup() {
        let root = tempfile::tempdir().unwrap();
        let deployment: Deployment = serde_json::from_value(serde_json::json!({
            "digest": "a".repeat(64), "serial": 0, "stateroot": "debian", "bootcsum": "b".repeat(64), "pinned": false,
        }))
        .unwrap();
        let runs = (deployment, root.path().to_owned());
        let mut looks = vec![vec![runs.clone()], vec![]];
        let mut linked = || Ok(looks.pop().unwrap_or_default());
        let found = booted_among(&mut linked, Path::new("/sysroot"), root.path());
        assert_eq!(found.unwrap(), runs);
    }
}
