//! Marks that are left on the Node without what they marked. `kubectl uncordon` takes the cordon off and leaves our mark; the next
//! cordon, whoever sets it, would then look like ours and be lifted at the end.

use super::{Act, System, old};
use crate::observe::{Api, Observation, OneShot};
use crate::phase::Phase;
use crate::policy::Policy;
use crate::record::Upgrade;
use crate::step::Step;

/// A mark that could not be taken off, or is still seen, is looked at again after so many seconds.
const LOOK_AGAIN: u64 = 10;

/// Takes such marks off, in every phase: the next person may cordon at any moment. A turn in which a step has ended is for what
/// follows from that step, which may be a pause that is known in this turn alone.
pub(super) fn take_off(
    up: Option<&mut Upgrade>,
    seen: &Observation,
    policy: &Policy,
) -> Option<Act> {
    if !is_due(seen) || seen.finished.is_some() {
        return None;
    }
    if let Some(up) = up.filter(|_| seen.uncordoned) {
        note_uncordoned(up, seen, policy)?;
    }
    Some(Act::Begin(Step::Unmark))
}

/// Pods may have come back to a node that was drained. That is written down with the first look at it: the next one may find a
/// person's cordon. Nothing where the upgrade itself does so at once, or ends.
fn note_uncordoned(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Option<()> {
    match (&up.phase, System::of(up, seen)) {
        (Phase::Drained, System::Old) => old::back_before_the_drain(up, policy).ok(),
        (Phase::Armed { boot }, System::Old) if *boot == seen.boot => None,
        (
            Phase::Accepted
            | Phase::Fetched
            | Phase::Verified
            | Phase::Deployed
            | Phase::Drained
            | Phase::Armed { .. }
            | Phase::Trial { .. }
            | Phase::Healthy { .. }
            | Phase::Blessed
            | Phase::Upgraded
            | Phase::Reverting { .. }
            | Phase::Failed { .. }
            | Phase::Halted { .. },
            System::Old | System::New | System::Other,
        ) => Some(()),
    }
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
