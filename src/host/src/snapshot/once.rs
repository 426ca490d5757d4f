//! A snapshot is put back once for each time that the target may have run, and no more: the old kubelet goes on from there, and what it
//! writes then is newer than what was saved. An upgrade that a person must look at keeps its snapshot through any number of boots.
//!
//! One that could not be put back is owed: it is tried again at each boot, also once the upgrade is over, and nothing takes it away.

use std::fs;
use std::path::PathBuf;

use upgrade::{Upgrade, UpgradeId};

use crate::error::Result;
use crate::{Places, durable};

/// The note within a snapshot: of which trial it was put back.
const NOTE: &str = "restored";

/// The note within a snapshot: it is still to be put back, and why that has not come about.
const OWED: &str = "owed";

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
    durable::remove(&owed(places, &upgrade.id))?;
    let text = format!("{}\n", upgrade.tries);
    durable::write(&path(places, &upgrade.id), text.as_bytes(), 0o600)
}

/// Whether it was ever put back since [`begin_anew`].
#[must_use]
pub fn is_noted(places: &Places, id: &UpgradeId) -> bool {
    path(places, id).exists()
}

/// The target runs again, though no trial of it was counted: somebody has booted it by hand. It is to be put back once more.
///
/// # Errors
/// When the note may still be there.
pub fn begin_anew(places: &Places, id: &UpgradeId) -> Result<()> {
    durable::remove(&owed(places, id))?;
    durable::remove(&path(places, id))
}

/// Notes that it is to be put back and is not. To be called before that is begun, so that one that is cut short is owed too, and again
/// with what went wrong.
///
/// # Errors
/// When that may be forgotten after a power cut.
pub fn owe(places: &Places, id: &UpgradeId, why: &str) -> Result<()> {
    durable::write(&owed(places, id), format!("{why}\n").as_bytes(), 0o600)
}

/// Why it is not put back though it was to be; nothing where it is not owed.
#[must_use]
pub fn why_owed(places: &Places, id: &UpgradeId) -> Option<String> {
    let why = fs::read_to_string(owed(places, id)).ok()?;
    Some(why.trim().to_owned())
}

fn owed(places: &Places, id: &UpgradeId) -> PathBuf {
    places.snapshot(id).join(OWED)
}

fn path(places: &Places, id: &UpgradeId) -> PathBuf {
    places.snapshot(id).join(NOTE)
}
