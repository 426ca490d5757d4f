//! Snapshots of upgrades that are forgotten: one that ended with a person looking at the node was never undone or cleaned up.

use std::fs;
use std::path::{Path, PathBuf};

use upgrade::UpgradeId;

use super::INDEX;
use super::owed::owed;
use crate::Places;
use crate::durable;
use crate::error::{At, Result};

/// What the folder of every snapshot is called, before the id of its upgrade.
const NAME: &str = "snapshot-";

/// A folder of a snapshot.
pub(super) struct Found {
    folder: PathBuf,
    /// Whose it is; nothing where it is one that was not made to its end.
    pub(super) id: Option<UpgradeId>,
}

/// Removes all snapshots but that of this upgrade, which the record tells of, and those that are owed; without one all that are not owed.
///
/// # Errors
/// The first that is still there.
pub fn keep_only(places: &Places, id: Option<&UpgradeId>) -> Result<()> {
    for one in all(places)? {
        let is_kept = |found: &UpgradeId| Some(found) == id || owed(places, found).is_some();
        if !one.id.as_ref().is_some_and(is_kept) {
            remove(&one.folder)?;
        }
    }
    Ok(())
}

/// Removes a snapshot, the index first: without it there is none, so half of one is never put back and never owed.
pub(super) fn remove(folder: &Path) -> Result<()> {
    durable::remove(&folder.join(INDEX))?;
    durable::remove_folder(folder)
}

/// Every folder of a snapshot, whole or not.
pub(super) fn all(places: &Places) -> Result<Vec<Found>> {
    let state = places.state();
    let entries = match fs::read_dir(&state) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).at("listing", &state),
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.at("listing", &state)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(id) = name.strip_prefix(NAME) {
            let (folder, id) = (entry.path(), id.parse().ok());
            all.push(Found { folder, id });
        }
    }
    Ok(all)
}
