//! Marks of ours that are left on the Node without what they marked. `kubectl uncordon` removes the
//! cordon and leaves our mark. The next cordon would then look like ours, and be removed at the
//! end.

use super::change::{Change, Move};
use super::decision::Act;
use super::drain;
use super::situation::{Situation, System};
use crate::phase::Phase;
use crate::record::Upgrade;
use crate::step::Step;

/// A mark that could not be removed is looked at again after this many seconds.
const LOOK_AGAIN: u64 = 10;

/// Removes such a mark, in every phase: the next person may cordon at any moment. The turn in which
/// a step ends belongs to what follows from that step, which may be a pause that only this turn
/// knows.
pub(super) fn remove_stale_mark(up: Option<&Upgrade>, s: &Situation<'_>) -> Option<Move> {
    if !is_due(s) || s.seen.turn.finished.is_some() {
        return None;
    }
    let first = match up.filter(|_| s.seen.node.uncordoned) {
        Some(up) => note_uncordoned(up, s)?,
        None => Vec::new(),
    };
    Some(Move::begin(Step::Unmark).after(first))
}

/// Pods may have come back to a node that was drained. The first look at it writes that: the next
/// one may find a person's cordon. Nothing where the upgrade itself does so at once, or ends.
fn note_uncordoned(up: &Upgrade, s: &Situation<'_>) -> Option<Vec<Change>> {
    use Phase as P;
    match (&up.phase, s.system(up)) {
        (P::Drained, System::Old) => drain::again(up, s).ok(),
        (P::Armed { boot }, System::Old) if *boot == s.seen.turn.boot => None,
        (
            P::Accepted
            | P::Fetched
            | P::Verified
            | P::Deployed
            | P::Drained
            | P::Armed { .. }
            | P::Trial { .. }
            | P::Healthy { .. }
            | P::Blessed
            | P::Upgraded
            | P::Reverting { .. }
            | P::Failed { .. }
            | P::Halted { .. },
            System::Old | System::New | System::Other,
        ) => Some(Vec::new()),
    }
}

/// No wait outlasts a mark that is due, and no upgrade waits for one.
pub(super) fn wake_for_a_stale_mark(act: Act, s: &Situation<'_>) -> Act {
    match act {
        Act::Wait(until) if is_due(s) && s.seen.turn.running.is_none() => {
            let soon = s.seen.turn.now.plus_seconds(LOOK_AGAIN);
            Act::Wait(Some(until.map_or(soon, |until| until.min(soon))))
        }
        act @ (Act::Begin(_) | Act::Cancel | Act::Wait(_)) => act,
    }
}

/// What is armed is cleared first, or left for the new system.
fn is_due(s: &Situation<'_>) -> bool {
    s.seen.node.stale_mark && s.reached && !s.armed
}
