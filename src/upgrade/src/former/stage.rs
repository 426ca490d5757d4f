//! The guard's half: whether this boot goes on. It looks twice, in the initramfs: before the new root is prepared and after.

use super::Act;
use crate::observe::{Observation, OneShot};
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{Record, Upgrade};
use crate::step::Step;

/// Lets the boot go on, or reboots into the old system.
pub(super) fn act(next: &mut Record, seen: &Observation) -> Act {
    if !seen.trial {
        // A default, kept or unknown system keeps its distribution's own way to boot and to be rescued.
        return Act::Begin(Step::Pass);
    }
    if seen.one_shot == OneShot::Set {
        // The loader could not clear it: without this the next boot would be a trial again, for ever.
        return Act::Begin(Step::Disarm);
    }
    match &mut next.upgrade {
        Some(up) if armed_for_this(up, seen) => guard(up, seen),
        Some(up) if is_led_to_again(up, seen) => Act::Begin(Step::Pass),
        None if seen.runs_default() => Act::Begin(Step::Pass),
        // A trial that nobody armed, or armed for another system. The record stays as it is: it is not about this boot.
        Some(_) | None => Act::Begin(Step::Reboot { force: true }),
    }
}

/// Whether a reboot would lead to this system again, for ever. Where the boot entry itself carries
/// the trial's arguments, as on a stock GRUB, they stay there when somebody else makes the system
/// on trial the default. The order of the deployments shows that only where /boot is on the root;
/// elsewhere the record does, of a system that was seen to be the default.
fn is_led_to_again(up: &Upgrade, seen: &Observation) -> bool {
    let tried = up.to.as_ref().is_some_and(|to| to.same(&seen.booted));
    let was_default = up.default_moved || up.phase == Phase::Upgraded;
    let is_unseen = seen.deployments.is_empty();
    let was_seen = up.from.same(&seen.booted) || (tried && was_default);
    seen.runs_default() || (is_unseen && was_seen)
}

/// Only the trial that was armed, and only one boot of it: a second was not counted. That boot is looked at again when its
/// root is prepared.
fn armed_for_this(up: &Upgrade, seen: &Observation) -> bool {
    let meant = up.to.as_ref().is_some_and(|to| to.same(&seen.booted));
    let entered = |boot: &_| *boot == seen.boot;
    meant
        && (matches!(up.phase, Phase::Armed { .. })
            || matches!(&up.phase, Phase::Trial { boot } if entered(boot)))
}

fn guard(up: &mut Upgrade, seen: &Observation) -> Act {
    let detail = match &seen.integrity {
        Some(Ok(())) => {
            up.guarded = Some(seen.boot.clone());
            // From here on this attempt is under way: a further boot of the new system needs a further arming.
            super::new::enter_trial(up, seen);
            return Act::Begin(Step::Pass);
        }
        Some(Err(detail)) => detail.clone(),
        None => "its files could not be checked".to_owned(),
    };
    up.phase = Phase::Reverting {
        reason: Reason::StageRefused { detail },
    };
    Act::Begin(Step::Reboot { force: true })
}
