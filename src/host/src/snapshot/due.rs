//! Whether a snapshot must be put back in this boot.

use upgrade::phase::Class;
use upgrade::{BootId, Deployment, Phase, Upgrade, names};

use super::index::exists;
use super::once::is_over;
use super::owed::{Owed, owe, owed};
use crate::Places;
use crate::error::Result;

/// Whether the snapshot must be put back before the kubelet starts: another system than the target runs, and the target may
/// have run since the snapshot was taken.
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

/// Where it is asked what is to be put back.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// The system that runs.
    pub system: &'a Deployment,
    /// The boot that it runs in.
    pub boot: &'a BootId,
}

/// Whether it is to be put back and nothing says whether it was: what does that before the kubelet starts has not come that far in this boot, or
/// could note nothing. To be asked behind it.
#[must_use]
pub fn is_outstanding(places: &Places, upgrade: &Upgrade, here: Here<'_>) -> bool {
    let is_due = may_have_run(upgrade, here.boot)
        && is_wanted(upgrade, here.system)
        && !is_over(places, upgrade, Some(here.boot));
    is_due && exists(places, &upgrade.id) && owed(places, &upgrade.id).is_none()
}

/// While it is armed the target has not run by the record, so it has written nothing. Of one without a guard that is known in the boot that has
/// armed it alone.
fn may_have_run(upgrade: &Upgrade, boot: &BootId) -> bool {
    if let Phase::Armed { boot: armed } = &upgrade.phase {
        !upgrade.has_guard() && armed != boot
    } else {
        true
    }
}

/// What is outstanding is owed from here on.
///
/// # Errors
/// When that may be forgotten after a power cut.
pub fn owe_outstanding(places: &Places, upgrade: &Upgrade) -> Result<()> {
    let unit = names::RESTORE_UNIT;
    let why = format!("{unit} did not finish in this boot; `systemctl status {unit}` says why");
    let to = Some(upgrade.from.clone());
    owe(places, &upgrade.id, &Owed { why, to })
}
