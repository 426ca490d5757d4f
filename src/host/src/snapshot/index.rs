//! The index of a snapshot.

use serde::{Deserialize, Serialize};
use upgrade::UpgradeId;

use crate::Places;

/// The index of the saved files, within a snapshot.
pub(super) const INDEX: &str = "index.json";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Index {
    pub(super) format: u32,
    /// The patterns searched. A file that matches them at restore time but is not in `files` is
    /// new, and is removed.
    pub(super) sources: Vec<String>,
    pub(super) files: Vec<Saved>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) content: String,
}

/// Whether there is a snapshot of this upgrade.
#[must_use]
pub fn exists(places: &Places, id: &UpgradeId) -> bool {
    places.snapshot(id).join(INDEX).is_file()
}
