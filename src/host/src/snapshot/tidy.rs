//! Snapshots of upgrades that are forgotten: one that ended with a person looking at the node was never undone or cleaned up.

use std::fs;

use upgrade::UpgradeId;

use crate::Places;
use crate::durable;
use crate::error::{At, Result};

/// What the folder of every snapshot is called, before the id of its upgrade.
const NAME: &str = "snapshot-";

/// Removes all snapshots but that of this upgrade, which the record tells of; without one all of them.
///
/// # Errors
/// The first that is still there.
pub fn keep_only(places: &Places, id: Option<&UpgradeId>) -> Result<()> {
    let (state, kept) = (places.state(), id.map(|id| places.snapshot(id)));
    let entries = match fs::read_dir(&state) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).at("listing", &state),
    };
    for entry in entries {
        let entry = entry.at("listing", &state)?;
        let is_one = entry.file_name().to_string_lossy().starts_with(NAME);
        if is_one && Some(entry.path()) != kept {
            durable::remove_folder(&entry.path())?;
        }
    }
    Ok(())
}
