//! The operator's hours. Outside of them nothing new begins, and a node that was taken from its
//! users and is not armed yet is given back to them. What is armed goes on to its end. So nothing
//! takes the node that would not be over before the hours are.

use super::change::{Change, Move};
use super::control;
use super::decision::Act;
use super::give_back::{before_the_drain, way_back};
use super::situation::Situation;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{Rehearsal, Upgrade};
use crate::step::Step;
use crate::window::{Door, NO_TIME};

/// After this many seconds the agent looks again whether the clock is set.
const AGAIN: u64 = 10;

/// What happens instead of going on; nothing while the hours are open. A machine that nobody uses
/// has no hours.
pub(super) fn closed(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    if control::must_go_on(up) || !s.joined {
        return None;
    }
    if s.lacks_the_time() {
        return without_the_time(up, s);
    }
    let minutes = if takes_next(up) {
        s.policy.window.last_begin_minutes()
    } else {
        0
    };
    let shut = s.policy.window.shut(s.seen.turn.wall, minutes);
    let shut = shut.filter(|_| !may_go_on_outside(up, s))?;
    let waits = Change::Waits(Some(Reason::WindowClosed { opens: shut.why }));
    // Where no hours are long enough, or their zone is not known, somebody may fix that.
    let opens = Act::Wait(Some(s.wake_at(shut.opens.unwrap_or(u64::MAX))));
    let back = way_back(up, s);
    let again = before_the_drain(up, back.as_ref());
    let next = back.unwrap_or_else(|| opens.into());
    Some(next.after(again).after([waits]))
}

/// A time service sets the clock some seconds after the boot. A node that is taken already, as
/// after a trial without a verdict, is given back only where it does not.
fn without_the_time(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    if may_go_on_outside(up, s) {
        return None;
    }
    let opens = NO_TIME.to_owned();
    let waits = Change::Waits(Some(Reason::WindowClosed { opens }));
    let back = way_back(up, s).filter(|_| s.connecting().is_none());
    let again = before_the_drain(up, back.as_ref());
    let next = back.unwrap_or_else(|| s.wait_seconds(AGAIN).into());
    Some(next.after(again).after([waits]))
}

/// Whether the next step takes the node from its users. A node that is taken already is not left
/// half way for want of minutes.
fn takes_next(up: &Upgrade) -> bool {
    up.phase == Phase::Deployed && !up.is_taken()
}

/// What nobody on the node notices, where the operator lets it begin at any time.
fn may_go_on_outside(up: &Upgrade, s: &Situation<'_>) -> bool {
    s.policy.window.fetch_outside
        && match up.phase {
            Phase::Accepted | Phase::Fetched => true,
            Phase::Verified => up.rehearsal == Rehearsal::Due && !s.policy.drain.skip,
            Phase::Deployed
            | Phase::Drained
            | Phase::Armed { .. }
            | Phase::Trial { .. }
            | Phase::Healthy { .. }
            | Phase::Blessed
            | Phase::Upgraded
            | Phase::Reverting { .. }
            | Phase::Failed { .. }
            | Phase::Halted { .. } => false,
        }
}

/// While a step takes the node from its users: it ends with the hours.
pub(super) fn while_taking(s: &Situation<'_>) -> Act {
    match s.door() {
        Door::Closed { .. } => Act::Cancel,
        Door::Open { .. } => s.wake_when_the_hours_end(Act::Wait(None)),
    }
}

/// Whether a step takes the node from its users, or keeps it from them before anything is armed: a
/// slow disk saves for minutes.
pub(super) const fn takes(step: &Step) -> bool {
    matches!(
        step,
        Step::PreHooks | Step::Exclude | Step::Drain { .. } | Step::Snapshot
    )
}
