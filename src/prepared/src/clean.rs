//! Cleaning. It can be repeated from the beginning after a power cut. What it could not do, the
//! check list finds in the next boot.

use std::path::{Path, PathBuf};

use life::ClaimId;

use crate::control_plane;
use crate::disk::{Disk, write_json};
use crate::error::Result;
use crate::kubernetes;
use crate::ledger::Ledger;
use crate::leftovers::{self, Leftover};
use crate::machine::Machine;
use crate::paths::Paths;
use crate::pristine;

/// Cleans the host and returns what it could not do. kubeadm is first: it needs the runtime and the
/// files that the rest removes. Its failure is noted only.
pub fn clean(
    paths: &Paths,
    disk: &dyn Disk,
    machine: &mut dyn Machine,
    claim: &ClaimId,
) -> Vec<String> {
    let reset = machine.reset();
    let mut left = Vec::new();
    if !reset.well {
        left.push(format!("kubeadm reset: {}", reset.tail));
    }
    let mounts = machine.mounts();
    let ledger = Ledger::of(paths, disk, claim).restore();
    let folders = restore_folders(paths, disk, &mounts);
    let control_plane = remove_control_plane(paths, disk, &mounts);
    let removed = remove_leftovers(paths, disk, &mounts);
    let shared = kubernetes::make_shared_again(paths, disk);
    for done in [ledger, folders, control_plane, removed, shared] {
        left.extend(done.err().map(|error| error.to_string()));
    }
    left
}

/// Notes that a cleaning has ended in this boot.
///
/// # Errors
/// The note is not there.
pub fn note(paths: &Paths, disk: &dyn Disk, claim: &ClaimId, left: &[String]) -> Result<()> {
    write_json(disk, &paths.cleaned(claim), &left)
}

/// What a fence has put aside holds keys of the cluster.
fn restore_folders(paths: &Paths, disk: &dyn Disk, mounts: &[PathBuf]) -> Result<()> {
    let mut all = Ok(());
    for aside in kubernetes::aside(paths)? {
        all = all.and(pristine::remove(disk, mounts, &aside));
    }
    for folder in kubernetes::folders(paths)? {
        let etc = folder.parent().unwrap_or(&folder);
        all = all.and(pristine::restore(disk, mounts, etc, &folder));
    }
    all
}

fn remove_control_plane(paths: &Paths, disk: &dyn Disk, mounts: &[PathBuf]) -> Result<()> {
    let mut all = Ok(());
    for left in control_plane::left(paths)? {
        all = all.and(pristine::remove(disk, mounts, &left));
    }
    all
}

/// A line that cannot be done does not keep the others from being done.
fn remove_leftovers(paths: &Paths, disk: &dyn Disk, mounts: &[PathBuf]) -> Result<()> {
    let mut all = Ok(());
    for leftover in leftovers::all(paths)? {
        let Leftover::Remove(path) = leftover else {
            continue;
        };
        for (etc, place) in places(paths, &path)? {
            all = all.and(pristine::restore(disk, mounts, &etc, &place));
        }
    }
    all
}

/// Where a line of a list leads, and the /etc that it belongs to. A path of /etc is in each
/// deployment.
pub(crate) fn places(paths: &Paths, path: &str) -> Result<Vec<(PathBuf, PathBuf)>> {
    let etcs = paths.etcs()?;
    let Some(rest) = path.strip_prefix("/etc/") else {
        return Ok(vec![(paths.below("/etc"), paths.below(path))]);
    };
    let place = |etc: PathBuf| {
        let place = etc.join(Path::new(rest));
        (etc, place)
    };
    Ok(etcs.into_iter().map(place).collect())
}
