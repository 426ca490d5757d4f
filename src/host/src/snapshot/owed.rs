//! Owed snapshots: those that should have been restored and were not. The restore is retried at
//! each boot of the system that needs it, even after its upgrade has ended and whatever the record
//! contains by then. No clean-up removes an owed snapshot.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use upgrade::reason::complaint;
use upgrade::{Deployment, Reason, UpgradeId};

use super::folders;
use super::index::INDEX;
use crate::error::{Error, Result};
use crate::{Places, durable};

/// The note within a snapshot that marks it as owed.
const NOTE: &str = "owed";

/// The reason if the disk had room only for the note itself.
const NO_ROOM: &str = "the disk took only the note that it must be restored";

/// A snapshot that is still to be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// Why it was not restored.
    pub why: String,
    /// The system whose state it is; `None` if that was not noted.
    #[serde(default)]
    pub to: Option<Deployment>,
}

impl Owed {
    /// Parses the note. A version that noted no system wrote only the reason, and on a full disk
    /// the note is only a second name of the index.
    fn noted(text: &str) -> Self {
        let why = if text.starts_with('{') {
            NO_ROOM
        } else {
            text.trim()
        };
        serde_json::from_str(text).unwrap_or_else(|_| Self {
            why: why.to_owned(),
            to: None,
        })
    }
}

/// Notes that the snapshot must be restored. Call it before the restore begins, so that an
/// interrupted one is owed too, and again with the error if the restore fails.
///
/// # Errors
/// The note may be lost in a power cut.
/// When that may be forgotten after a power cut.
pub fn owe(places: &Places, id: &UpgradeId, owed: &Owed) -> Result<()> {
    let text = serde_json::to_string(owed).unwrap_or_else(|_| owed.why.clone());
    let written = durable::write(&note(places, id), text.as_bytes(), 0o600);
    let Err(error) = written else { return Ok(()) };
    // The restore fails on a full disk, and another name in a folder takes no room there.
    let index = places.snapshot(id).join(INDEX);
    if note(places, id).exists() || durable::link(&index, &note(places, id)).is_ok() {
        return durable::sync_folder(&places.snapshot(id));
    }
    Err(error)
}

/// Notes that the snapshot was restored and is no longer owed.
///
/// # Errors
/// It may still be owed after a power cut.
pub(super) fn settle(places: &Places, id: &UpgradeId) -> Result<()> {
    durable::remove(&note(places, id))
}

/// The note of this upgrade's snapshot; `None` if it is not owed. A note that cannot be read still
/// counts.
#[must_use]
pub fn owed(places: &Places, id: &UpgradeId) -> Option<Owed> {
    match fs::read_to_string(note(places, id)) {
        Ok(text) => Some(Owed::noted(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(Owed {
            why: format!("cannot read the note about it: {error}"),
            to: None,
        }),
    }
}

/// All owed snapshots on this node's disk, whichever upgrade the record is about.
///
/// # Errors
/// The snapshots cannot be read.
pub fn all_owed(places: &Places) -> Result<Vec<(UpgradeId, Owed)>> {
    let mut all: Vec<_> = folders::all(places)?
        .into_iter()
        .filter_map(|one| one.id)
        .filter_map(|id| owed(places, &id).map(|owed| (id, owed)))
        .collect();
    all.sort_by_key(|(id, _)| id.to_string());
    Ok(all)
}

/// Checks that the next trial would lose no state.
///
/// # Errors
/// [`Reason::StateOwed`], or the snapshots cannot be read.
pub fn none_is_owed(places: &Places) -> Result<()> {
    let Some((id, owed)) = all_owed(places)?.into_iter().next() else {
        return Ok(());
    };
    Err(Error::Reason(Reason::StateOwed {
        kept: places.snapshot(&id).display().to_string(),
        id: id.to_string(),
        detail: complaint(&owed.why),
    }))
}

fn note(places: &Places, id: &UpgradeId) -> PathBuf {
    places.snapshot(id).join(NOTE)
}
