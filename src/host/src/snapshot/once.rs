//! A snapshot is restored only once for each time that the target may have run. The old kubelet
//! continues from there, and what it writes then is newer than the snapshot. A halted upgrade keeps
//! its snapshot through any number of boots.

use std::fs;
use std::path::{Path, PathBuf};

use upgrade::{BootId, Upgrade, UpgradeId};

use super::owed;
use crate::error::Result;
use crate::{Places, durable};

/// The note within a snapshot: up to which trial nothing needs to be restored, or in which boot it
/// was restored while a trial was armed.
const NOTE: &str = "restored";

/// The prefix before that boot. A version that does not know such a note ignores it.
const ARMED: &str = "armed ";

/// Whether the snapshot was restored since the target may have run last. A note made while a trial
/// was armed is valid in that boot, so in none if the boot is unknown. It is valid for good once
/// the record says that this trial will not happen.
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

/// Whether there is any note of a restore.
#[must_use]
pub fn is_noted(places: &Places, id: &UpgradeId) -> bool {
    path(places, id).exists()
}

/// Notes that the snapshot was restored. Call this after the restore and before the kubelet starts.
/// If the power fails between the two, the restore runs once more, over files that no kubelet has
/// changed.
///
/// # Errors
/// The note may be lost in a power cut.
/// When that may be forgotten after a power cut.
pub fn note(places: &Places, upgrade: &Upgrade) -> Result<()> {
    owed::settle(places, &upgrade.id)?;
    write(places, &upgrade.id, &upgrade.attempt.tries.to_string())
}

/// Notes that the snapshot was restored in this boot while a trial is armed.
///
/// By the record the trial has not begun. It still may, without being armed or counted again: a
/// power cut can bring back the one-shot that the loader had cleared for somebody who picked this
/// system in its menu. So the restore counts only in this boot, unless the record leaves the phase
/// `Armed` without that trial: a guard lets no trial pass that is not armed.
///
/// # Errors
/// As [`note`].
pub fn note_armed(places: &Places, id: &UpgradeId, boot: &BootId) -> Result<()> {
    owed::settle(places, id)?;
    write(places, id, &format!("{ARMED}{boot}"))
}

/// Notes in a new snapshot that the target has not run since. A revert before the next trial then
/// has nothing to restore.
pub(super) fn nothing_is_due(folder: &Path, trials: u32) -> Result<()> {
    durable::write_plain(&folder.join(NOTE), format!("{trials}\n").as_bytes(), 0o600).map(drop)
}

/// Notes that the target runs again although no trial was counted: somebody booted it by hand. The
/// snapshot must be restored once more.
///
/// # Errors
/// The note may still be there.
pub fn restore_again(places: &Places, id: &UpgradeId) -> Result<()> {
    owed::settle(places, id)?;
    durable::remove(&path(places, id))
}

fn write(places: &Places, id: &UpgradeId, text: &str) -> Result<()> {
    durable::write(&path(places, id), format!("{text}\n").as_bytes(), 0o600)
}

fn path(places: &Places, id: &UpgradeId) -> PathBuf {
    places.snapshot(id).join(NOTE)
}
