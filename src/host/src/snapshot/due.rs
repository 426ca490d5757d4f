//! Whether a snapshot must be restored in this boot.

use upgrade::phase::Class;
use upgrade::{BootId, Deployment, Phase, Upgrade, names};

use super::index::exists;
use super::once::is_over;
use super::owed::{Owed, owe, owed};
use crate::Places;
use crate::error::Result;

/// Whether the snapshot must be restored before the kubelet starts: a system other than the target
/// runs, and the target may have run since the snapshot was taken.
#[must_use]
pub fn is_wanted(upgrade: &Upgrade, booted: &Deployment) -> bool {
    let target_runs = upgrade.to.as_ref().is_some_and(|to| to.same(booted));
    let may_have_run = match upgrade.phase.class() {
        Class::Trying { .. } | Class::Reverting { .. } | Class::Halted { .. } => true,
        // Somebody went back from a blessed system by hand.
        Class::Blessed => true,
        Class::Preparing | Class::Upgraded | Class::Failed { .. } => false,
    };
    may_have_run && !target_runs
}

/// The system and the boot that ask.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// The running system.
    pub system: &'a Deployment,
    /// The boot that it runs in.
    pub boot: &'a BootId,
}

/// Whether the snapshot must be restored and nothing shows that it was. Either the restore unit,
/// which runs before the kubelet, has not come that far in this boot, or it could not note its
/// result. Call this after that unit.
#[must_use]
pub fn is_outstanding(places: &Places, upgrade: &Upgrade, here: Here<'_>) -> bool {
    let is_due = may_have_run(upgrade, here.boot)
        && is_wanted(upgrade, here.system)
        && !is_over(places, upgrade, Some(here.boot));
    is_due && exists(places, &upgrade.id) && owed(places, &upgrade.id).is_none()
}

/// Whether the target may have run. While a trial is armed, the record says that the target has not
/// run, so it has written nothing. For a target without a guard, that is certain only in the boot
/// that armed it.
fn may_have_run(upgrade: &Upgrade, boot: &BootId) -> bool {
    if let Phase::Armed { boot: armed } = &upgrade.phase {
        !upgrade.has_guard() && armed != boot
    } else {
        true
    }
}

/// Notes an outstanding restore as owed.
///
/// # Errors
/// The note may be lost in a power cut.
pub fn owe_outstanding(places: &Places, upgrade: &Upgrade) -> Result<()> {
    let unit = names::RESTORE_UNIT;
    let why = format!("{unit} did not finish in this boot; `systemctl status {unit}` says why");
    let to = Some(upgrade.from.clone());
    owe(places, &upgrade.id, &Owed { why, to })
}
