//! A snapshot is put back once for each time that the target may have run, and no more: the old kubelet goes on from there, and what it
//! writes then is newer than what was saved. An upgrade that a person must look at keeps its snapshot through any number of boots.

use std::fs;
use std::path::{Path, PathBuf};

use upgrade::{Upgrade, UpgradeId};

use super::owed;
use crate::error::Result;
use crate::{Places, durable};

/// The note within a snapshot: up to which trial nothing is to be put back any more.
const NOTE: &str = "restored";

/// Whether it was put back since the target may have run last.
#[must_use]
pub fn is_over(places: &Places, upgrade: &Upgrade) -> bool {
    fs::read_to_string(path(places, &upgrade.id))
        .is_ok_and(|noted| noted.trim() == upgrade.tries.to_string())
}

/// Notes that it was put back. To be called behind that and before the kubelet starts: a cut between the two has it put back once more,
/// over what no kubelet has changed.
///
/// # Errors
/// When that may be forgotten after a power cut.
pub fn note(places: &Places, upgrade: &Upgrade) -> Result<()> {
    owed::settle(places, &upgrade.id)?;
    let text = format!("{}\n", upgrade.tries);
    durable::write(&path(places, &upgrade.id), text.as_bytes(), 0o600)
}

/// Notes in a snapshot that is being made that the target has not run since: who turns back before the next trial has nothing to put back.
pub(super) fn nothing_is_due(folder: &Path, trials: u32) -> Result<()> {
    durable::write_plain(&folder.join(NOTE), format!("{trials}\n").as_bytes(), 0o600).map(drop)
}

/// The target runs again, though no trial of it was counted: somebody has booted it by hand. It is to be put back once more.
///
/// # Errors
/// When the note may still be there.
pub fn begin_anew(places: &Places, id: &UpgradeId) -> Result<()> {
    owed::settle(places, id)?;
    durable::remove(&path(places, id))
}

fn path(places: &Places, id: &UpgradeId) -> PathBuf {
    places.snapshot(id).join(NOTE)
}
