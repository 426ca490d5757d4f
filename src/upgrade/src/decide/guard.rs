//! What comes before the table, in this order, whatever the phase.

use super::change::{Change, Move};
use super::situation::{Situation, System};
use super::{allowed, safety, withdrawn};
use crate::phase::Phase;
use crate::record::Upgrade;

/// A guard, which has something to say or not.
type Guard = fn(&Upgrade, &Situation<'_>) -> Option<Move>;

/// The guards of an upgrade under way, in their order.
const GUARDS: [Guard; 3] = [called_off, nothing_stays_armed, came_late];

/// The first guard that has something to say.
pub(super) fn first(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    GUARDS.iter().find_map(|guard| guard(up, s))
}

/// On the way to the trial: the request, the Node or the policy may have changed.
fn called_off(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    if !is_on_the_way(up, s) {
        return None;
    }
    let refused = || allowed::check_again(up, s).err();
    let reason = withdrawn::called_off(up, s.seen).or_else(refused)?;
    Some(Move::give_up(reason))
}

/// Outside of an armed trial the next reboot must not be one. The new system looks first at what
/// it is now: on its way to the blessing it may be the default already.
fn nothing_stays_armed(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    use Phase as P;
    let must_not = match (&up.phase, s.system(up)) {
        (P::Armed { boot }, System::Old) => *boot != s.seen.turn.boot,
        (P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained, System::Old)
        | (P::Healthy { .. } | P::Blessed | P::Halted { .. }, System::Old)
        | (P::Trial { .. } | P::Reverting { .. }, System::Old | System::New) => true,
        (P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained, System::New)
        | (P::Armed { .. } | P::Healthy { .. } | P::Blessed | P::Halted { .. }, System::New)
        | (P::Upgraded | P::Failed { .. }, System::Old | System::New)
        | (_, System::Other) => false,
    };
    let first = must_not.then(|| safety::disarm(Some(up), s))?;
    first.map(Move::act)
}

/// Our cordon or label on a node that is not taken: a slow API server carried out the write after
/// the node was given back.
fn came_late(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    let due = is_on_the_way(up, s) && s.reached && !up.is_taken();
    due.then(|| safety::lift(s))?.map(Move::act)
}

/// On its way to the trial, the old system notes that it has reached the API server.
pub(super) fn server_reached(up: &Upgrade, s: &Situation<'_>) -> Option<Change> {
    let due = is_on_the_way(up, s) && s.reached;
    due.then_some(Change::OldReached)
}

fn is_on_the_way(up: &Upgrade, s: &Situation<'_>) -> bool {
    up.phase.can_be_withdrawn() && s.system(up) == System::Old
}
