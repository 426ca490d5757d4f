//! What the old system is owed: a snapshot that was to be put back and is not. It is tried again at each boot of the system that it is owed
//! to, also once its upgrade is over and whatever the record speaks of by then, and no tidying up takes it away.

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

/// The note within a snapshot that says so.
const NOTE: &str = "owed";

/// What is told of a snapshot of which it could only be noted that it is owed.
const NO_ROOM: &str = "the disk took only the note that it must be restored";

/// A snapshot that is still to be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// Why that has not come about.
    pub why: String,
    /// The system whose state it is; nothing where that was not noted.
    #[serde(default)]
    pub to: Option<Deployment>,
}

impl Owed {
    /// What was noted. A version that noted no system wrote the reason alone, and a full disk takes but a second name of the index.
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

/// Notes that it is to be put back and is not. To be called before that is begun, so that one that is cut short is owed too, and again
/// with what went wrong.
///
/// # Errors
/// When that may be forgotten after a power cut.
pub fn owe(places: &Places, id: &UpgradeId, owed: &Owed) -> Result<()> {
    let text = serde_json::to_string(owed).unwrap_or_else(|_| owed.why.clone());
    let written = durable::write(&note(places, id), text.as_bytes(), 0o600);
    let Err(error) = written else { return Ok(()) };
    // A full disk is what putting back fails for, and a name more in a folder takes none of its room.
    let index = places.snapshot(id).join(INDEX);
    if note(places, id).exists() || durable::link(&index, &note(places, id)).is_ok() {
        return durable::sync_folder(&places.snapshot(id));
    }
    Err(error)
}

/// It is owed no more: it was put back.
///
/// # Errors
/// When it may still be owed after a power cut.
pub(super) fn settle(places: &Places, id: &UpgradeId) -> Result<()> {
    durable::remove(&note(places, id))
}

/// What is owed of this upgrade's snapshot; nothing where it is not owed. A note that cannot be read is one all the same.
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

/// Everything that is owed on this node, by what lies on the disk, whichever upgrade the record tells of.
///
/// # Errors
/// When that cannot be told.
pub fn all_owed(places: &Places) -> Result<Vec<(UpgradeId, Owed)>> {
    let mut all: Vec<_> = folders::all(places)?
        .into_iter()
        .filter_map(|one| one.id)
        .filter_map(|id| owed(places, &id).map(|owed| (id, owed)))
        .collect();
    all.sort_by_key(|(id, _)| id.to_string());
    Ok(all)
}

/// Whether the next trial would lose nothing.
///
/// # Errors
/// [`Reason::StateOwed`], or when that cannot be told.
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
