//! Room for what the pod brings, asked for before the agent is touched: a full node keeps the agent that runs and the room that it has left.

use std::fs;
use std::path::Path;

use host::agents::Bundle;
use host::room;

use crate::act::Failed;
use crate::node::Node;

/// What is left beside a copy, in bytes: the agent's record, the kubelet and the journal are written on the same disk.
const TO_SPARE: u64 = 16 << 20;

/// Whether there is room for a copy and some more.
///
/// # Errors
/// [`Failed::NoRoom`], and when it cannot be told.
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

/// The folder itself, or where it is going to be made.
fn there(folder: &Path) -> &Path {
    let mut above = folder.ancestors();
    above.find(|path| path.is_dir()).unwrap_or(folder)
}

/// What a file takes that cannot be looked at, the copy will say.
fn bytes(bundle: &Bundle) -> u64 {
    let files = fs::read_dir(&bundle.folder).into_iter().flatten().flatten();
    let sizes = files.filter_map(|file| file.metadata().ok());
    sizes.map(|facts| facts.len()).sum()
}
