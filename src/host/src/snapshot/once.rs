//! A snapshot is put back once for each time that the target may have run, and no more: the old kubelet goes on from there, and what it
//! writes then is newer than what was saved. An upgrade that a person must look at keeps its snapshot through any number of boots.

use std::fs;
use std::path::{Path, PathBuf};

use upgrade::{BootId, Upgrade, UpgradeId};

use super::owed;
use crate::error::Result;
use crate::{Places, durable};

/// The note within a snapshot: up to which trial nothing is to be put back any more, or in which boot it was put back while one was armed.
const NOTE: &str = "restored";

/// What stands before that boot. A version that knows no such note takes it for none.
const ARMED: &str = "armed ";

/// Whether it was put back since the target may have run last. What was noted while a trial was armed holds in that boot, so in none where it
/// cannot be told, and for good once the record says that this trial does not come any more.
#[must_use]
pub fn is_over(places: &Places, upgrade: &Upgrade, boot: Option<&BootId>) -> bool {
    let Ok(noted) = fs::read_to_string(path(places, &upgrade.id)) else {
        return false;
    };
    match noted.trim().strip_prefix(ARMED) {
        Some(noted) => {
            upgrade.is_past_its_arming() || boot.is_some_and(|boot| boot.as_str() == noted)
        }
        None => noted.trim() == upgrade.attempt.tries.to_string(),
    }
}

/// Whether anything is noted of its being put back.
#[must_use]
pub fn is_noted(places: &Places, id: &UpgradeId) -> bool {
    path(places, id).exists()
}

/// Notes that it was put back. To be called behind that and before the kubelet starts: a cut between the two has it put back once more,
/// over what no kubelet has changed.
///
/// # Errors
/// When that may be forgotten after a power cut.
pub fn note(places: &Places, upgrade: &Upgrade) -> Result<()> {
    owed::settle(places, &upgrade.id)?;
    write(places, &upgrade.id, &upgrade.attempt.tries.to_string())
}

/// Notes that it was put back in this boot while a trial is armed. The trial has not begun by the record, and may yet, without being armed or
/// counted anew: a power cut can bring the one-shot back that the loader had cleared for whoever picked this system in its menu. So it is over in
/// this boot alone, unless the record moves on from its arming without that trial: a guard lets none pass that is not armed.
///
/// # Errors
/// As [`note`].
pub fn note_armed(places: &Places, id: &UpgradeId, boot: &BootId) -> Result<()> {
    owed::settle(places, id)?;
    write(places, id, &format!("{ARMED}{boot}"))
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

fn write(places: &Places, id: &UpgradeId, text: &str) -> Result<()> {
    durable::write(&path(places, id), format!("{text}\n").as_bytes(), 0o600)
}

fn path(places: &Places, id: &UpgradeId) -> PathBuf {
    places.snapshot(id).join(NOTE)
}
