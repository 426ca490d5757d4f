//! Steps that no upgrade under way counts the tries of: they are followed by a pause all the same, or the loop would spin.

use super::Act;
use crate::observe::{Api, Observation};
use crate::step::{Outcome, Step};

/// Before another try, in seconds.
const PAUSE: u64 = 60;

/// The pause, when this step has just failed.
pub(super) fn pause(step: &Step, seen: &Observation) -> Option<Act> {
    let finished = seen.finished.as_ref()?;
    let failed = matches!(finished.outcome, Outcome::Failed(_));
    after(step, seen).filter(|_| failed)
}

/// The pause, when this step has just ended, in whatever way.
pub(super) fn after(step: &Step, seen: &Observation) -> Option<Act> {
    let finished = seen.finished.as_ref()?;
    let this = finished.step.name() == step.name();
    this.then(|| Act::Wait(Some(seen.now.plus_seconds(PAUSE))))
}

/// Takes what of ours keeps the node from its users off a node that is theirs. It may be seen still when it has just been taken off.
pub(super) fn lift(seen: &Observation) -> Option<Act> {
    let left = seen.own_cordon || seen.own_exclusion;
    left.then(|| match seen.api {
        Api::Reached { .. } => after(&Step::Release, seen).unwrap_or(Act::Begin(Step::Release)),
        Api::Away => Act::Wait(None),
    })
}

/// Out of a trial that is not under way by any record: the default is another system, so a reboot leads there. Where asking
/// for one never helps, the deadman ends the trial.
pub(super) fn leave_trial(seen: &Observation) -> Act {
    let reboot = Step::Reboot { force: false };
    pause(&reboot, seen).unwrap_or(Act::Begin(reboot))
}
