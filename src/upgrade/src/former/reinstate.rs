//! The way out of a trial whose system somebody else has made the default: the old one is made that again, or a reboot would lead nowhere else.
//! A system that has failed does that as well as it can; the old system's agent does it once more.

use super::Act;
use crate::observe::Observation;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::Step;

/// What is said in a verdict beside its reason.
const MOVED: &str = "; somebody else had made this system the default during its trial";

/// Takes note that the system on trial is the default, though Careen has not begun to make it that.
pub(super) fn notice(up: &mut Upgrade, seen: &Observation) {
    up.default_moved |= seen.trial && seen.runs_default() && !up.is_being_blessed();
}

/// The next try to make the old system the default again; one a boot, where what failed is the default still.
pub(super) fn reinstate(up: &mut Upgrade, seen: &Observation) -> Option<Act> {
    let over = up.to.clone().filter(|to| seen.default_is(to))?;
    if !up.default_moved || was_tried(up, seen) {
        return None;
    }
    up.reinstated = Some(seen.boot.clone());
    let deployment = up.from.clone();
    Some(Act::Begin(Step::Reinstate { deployment, over }))
}

/// Whether that was begun in this boot.
pub(super) fn was_tried(up: &Upgrade, seen: &Observation) -> bool {
    up.reinstated.as_ref() == Some(&seen.boot)
}

/// Why the new system is not blessed that somebody else has made the default.
pub(super) fn moved(seen: &Observation) -> Reason {
    let booted = seen.booted.digest.short();
    Reason::ForeignDefault {
        default: format!(
            "{booted}, the system on trial, which something other than Careen made the default"
        ),
    }
}

/// The verdict, with that in it where it has words besides its kind.
pub(super) fn told(up: &Upgrade, mut reason: Reason) -> Reason {
    if let Reason::Unhealthy { detail, .. }
    | Reason::KubeadmFailed { detail }
    | Reason::UserCheck { detail, .. } = &mut reason
        && up.default_moved
    {
        detail.push_str(MOVED);
    }
    reason
}
