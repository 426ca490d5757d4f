//! Marks that are left on the Node without what they marked. `kubectl uncordon` takes the cordon off and leaves our mark; the next
//! cordon, whoever sets it, would then look like ours and be lifted at the end.

use super::Act;
use crate::observe::{Api, Observation, OneShot};
use crate::step::Step;

/// A mark that could not be taken off, or is still seen, is looked at again after so many seconds.
const LOOK_AGAIN: u64 = 10;

/// Takes such marks off, in every phase: the next person may cordon at any moment. A turn in which a step has ended is for what
/// follows from that step, which may be a pause that is known in this turn alone.
pub(super) fn take_off(seen: &Observation) -> Option<Act> {
    let due = is_due(seen) && seen.finished.is_none();
    due.then_some(Act::Begin(Step::Unmark))
}

/// No wait outlasts a mark that is due, and no upgrade waits for one.
pub(super) fn look_again(act: Act, seen: &Observation) -> Act {
    match act {
        Act::Wait(until) if is_due(seen) && seen.running.is_none() => {
            let soon = seen.now.plus_seconds(LOOK_AGAIN);
            Act::Wait(Some(until.map_or(soon, |until| until.min(soon))))
        }
        act @ (Act::Begin(_) | Act::Cancel | Act::Wait(_)) => act,
    }
}

/// What is armed is disarmed, or left for the new system, before anything else.
fn is_due(seen: &Observation) -> bool {
    let reached = matches!(seen.api, Api::Reached { .. });
    seen.stale_mark && reached && seen.one_shot != OneShot::Set
}
