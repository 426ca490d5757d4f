//! The fence: after it, the old kubelet cannot come back, in this boot or another one.

use life::{ClaimId, Fence};

use crate::disk::Disk;
use crate::error::Result;
use crate::kubernetes;
use crate::machine::Machine;
use crate::paths::Paths;

/// What could bring the old kubelet back. What cannot be looked at counts as open.
#[must_use]
pub fn look(paths: &Paths, machine: &dyn Machine) -> Fence {
    let mut open = machine.alive();
    match folders(paths) {
        Ok(found) => open.extend(found),
        Err(error) => open.push(error.to_string()),
    }
    if open.is_empty() {
        Fence::Whole
    } else {
        Fence::Open(open)
    }
}

fn folders(paths: &Paths) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in kubernetes::folders(paths)? {
        if kubernetes::is_alive(&folder)? {
            found.push(folder.display().to_string());
        }
    }
    Ok(found)
}

/// Ends what could make a credential again, takes the credentials away, then ends what runs with
/// them. A kubelet that is killed first would be started again.
///
/// # Errors
/// Something is still open.
pub fn close(
    paths: &Paths,
    disk: &dyn Disk,
    machine: &mut dyn Machine,
    claim: &ClaimId,
) -> Result<()> {
    machine.end_join();
    kubernetes::put_aside(paths, disk, machine, claim)?;
    machine.stop_kubelet();
    machine.kill_pods();
    Ok(())
}
