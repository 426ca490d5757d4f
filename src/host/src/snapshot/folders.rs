//! The folders of snapshots.

use std::fs;
use std::path::{Path, PathBuf};

use upgrade::UpgradeId;

use super::index::INDEX;
use crate::error::{At, Result};
use crate::{Places, durable};

/// The prefix of every snapshot folder, before the id of its upgrade.
const NAME: &str = "snapshot-";

/// A folder of a snapshot.
pub(super) struct Found {
    pub(super) folder: PathBuf,
    /// The id of its upgrade; `None` if the snapshot was not completed.
    pub(super) id: Option<UpgradeId>,
}

/// Removes a snapshot, the index first. Without an index there is no snapshot, so a partial one is
/// never restored and never owed.
pub(super) fn remove(folder: &Path) -> Result<()> {
    durable::remove(&folder.join(INDEX))?;
    durable::remove_folder(folder)
}

/// Every snapshot folder, complete or not.
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

/// Where a snapshot is built. An id may contain dots, so this suffix is not an extension.
pub(super) fn unfinished(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push("~new");
    PathBuf::from(name)
}

/// Removes a folder that may be missing.
pub(super) fn remove_tree(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).at("removing", path)
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
