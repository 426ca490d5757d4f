//! The way out of a trial whose system somebody else has made the default: the old one is made that
//! again, or a reboot would lead nowhere else. The new system does that as well as it can; the old
//! system's agent does it once more.

use super::change::{Change, Move};
use super::situation::Situation;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::Step;

/// What is said in a verdict beside its reason.
const MOVED: &str = "; another program had made this system the default during its trial";

/// Whether somebody else has made the system on trial the default, now or before.
pub(super) fn is_moved(up: &Upgrade, s: &Situation<'_>) -> bool {
    let leaves = matches!(up.phase, Phase::Reverting { .. });
    let ours = up.is_being_blessed() && !leaves;
    let now = s.seen.machine.trial && s.seen.machine.runs_default() && !ours;
    now || up.attempt.default.is_moved()
}

/// The note of that.
pub(super) fn note(up: &Upgrade, s: &Situation<'_>) -> Option<Change> {
    is_moved(up, s).then_some(Change::DefaultMoved)
}

/// The step that makes the old system the default again where the new one still is, once a boot.
pub(super) fn reinstate(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    let over = up.to.clone().filter(|to| s.seen.machine.default_is(to))?;
    if was_tried(up, s) {
        return None;
    }
    let deployment = up.from.clone();
    let note = Change::Reinstate(s.seen.turn.boot.clone());
    Some(Move::begin(Step::Reinstate { deployment, over }).after([note]))
}

/// Whether that began in this boot.
pub(super) fn was_tried(up: &Upgrade, s: &Situation<'_>) -> bool {
    up.attempt.default.reinstated() == Some(&s.seen.turn.boot)
}

/// Why the new system is not blessed that somebody else has made the default.
pub(super) fn moved(s: &Situation<'_>) -> Reason {
    let booted = s.seen.machine.booted.digest.short();
    Reason::ForeignDefault {
        default: format!(
            "{booted}, the system on trial, which something other than Careen made the default"
        ),
    }
}

/// The verdict, with that in it where it has words besides its kind.
pub(super) fn told(mut reason: Reason, moved: bool) -> Reason {
    if let Reason::Unhealthy { detail, .. }
    | Reason::KubeadmFailed { detail }
    | Reason::UserCheck { detail, .. } = &mut reason
        && moved
    {
        detail.push_str(MOVED);
    }
    reason
}
