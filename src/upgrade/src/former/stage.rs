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
        // A trial that nobody armed, or armed for another system. The record stays as it is: it is not about this boot.
        Some(_) | None => Act::Begin(Step::Reboot { force: true }),
    }
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
