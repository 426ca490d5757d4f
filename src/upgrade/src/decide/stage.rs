//! The guard's half, in the initramfs: whether this boot goes on. It looks twice, before the new
//! root is prepared and after.

use super::change::{Change, Move};
use super::situation::{Situation, System};
use crate::observe::{Cause, Unsound};
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::Step;

/// Lets the boot go on, or reboots into the old system.
pub(super) fn pass_or_reboot(up: Option<&Upgrade>, s: &Situation<'_>) -> Move {
    if !s.seen.machine.trial {
        // A default, kept or unknown system keeps its distribution's own way to boot and to be
        // rescued.
        return Move::begin(Step::Pass);
    }
    if s.armed {
        // The loader could not clear it, and the next boot would be a trial again, for ever.
        return Move::begin(Step::Disarm);
    }
    match up {
        Some(up) if is_armed_for_this(up, s) => check(s),
        Some(up) if is_led_to_again(up, s) => Move::begin(Step::Pass),
        None if s.seen.machine.runs_default() => Move::begin(Step::Pass),
        // A trial that nobody armed, or that was armed for another system: the record is not about
        // this boot.
        Some(_) | None => Move::begin(Step::Reboot { force: true }),
    }
}

/// Whether a reboot would lead to this system again, for ever. Where the boot entry itself carries
/// the trial's arguments, as on a stock GRUB, they stay there when somebody else makes the system
/// on trial the default. The order of the deployments shows that only where /boot is on the root;
/// elsewhere the record does, of a system that was seen to be the default.
fn is_led_to_again(up: &Upgrade, s: &Situation<'_>) -> bool {
    let was_default = up.attempt.default.is_moved() || up.phase == Phase::Upgraded;
    let was_seen =
        up.from.same(&s.seen.machine.booted) || (s.system(up) == System::New && was_default);
    let is_unseen = s.seen.machine.deployments.is_empty();
    s.seen.machine.runs_default() || (is_unseen && was_seen)
}

/// Only the trial that was armed, and only one boot of it: a second was not counted. The guard
/// looks at that boot again when its root is prepared.
fn is_armed_for_this(up: &Upgrade, s: &Situation<'_>) -> bool {
    let here = |boot: &_| *boot == s.seen.turn.boot;
    let phase = matches!(up.phase, Phase::Armed { .. })
        || matches!(&up.phase, Phase::Trial { boot } if here(boot));
    phase && s.system(up) == System::New
}

fn check(s: &Situation<'_>) -> Move {
    let Unsound { detail, cause } = match &s.seen.machine.integrity {
        Some(Ok(())) => return pass(s),
        Some(Err(unsound)) => unsound.clone(),
        None => Unsound {
            detail: "its files could not be checked".to_owned(),
            cause: Cause::Unclear,
        },
    };
    let reason = Reason::StageRefused { detail, cause };
    let bad = Change::Phase(Phase::Reverting { reason });
    Move::begin(Step::Reboot { force: true }).after([bad])
}

/// From here on this attempt is under way: another boot of the new system needs another arming.
fn pass(s: &Situation<'_>) -> Move {
    let boot = || s.seen.turn.boot.clone();
    Move::begin(Step::Pass).after([Change::Guarded(boot()), Change::Enter(boot())])
}
