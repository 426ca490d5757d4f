//! Checks the disk space for the pod's files before the agent is touched. A full node keeps the
//! running agent and its remaining space.

use std::fs;
use std::path::Path;

use host::agents::Bundle;
use host::room;

use crate::failed::Failed;
use crate::node::Node;

/// The bytes that must remain free after a copy. The agent's record, the kubelet and the journal
/// use the same disk.
const TO_SPARE: u64 = 16 << 20;

/// Checks that there is space for a copy and the reserve.
///
/// # Errors
/// [`Failed::NoRoom`], or if the free space cannot be determined.
pub fn check(node: &Node) -> Result<(), Failed> {
    let place = there(node.agents.folder());
    let free = room::free(place)?;
    let wanted = bytes(&node.brought).saturating_add(TO_SPARE);
    if free >= wanted {
        return Ok(());
    }
    Err(Failed::NoRoom {
        place: place.display().to_string(),
        free,
        wanted,
    })
}

/// The folder itself, or the existing folder in which it will be created.
fn there(folder: &Path) -> &Path {
    let mut above = folder.ancestors();
    above.find(|path| path.is_dir()).unwrap_or(folder)
}

/// A file whose size cannot be read counts as empty; the copy then reports the error.
fn bytes(bundle: &Bundle) -> u64 {
    let files = fs::read_dir(&bundle.folder).into_iter().flatten().flatten();
    let sizes = files.filter_map(|file| file.metadata().ok());
    sizes.map(|facts| facts.len()).sum()
}
