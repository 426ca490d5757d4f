//! The old system runs after a trial, and no verdict was written: a power cut, a panic and a hang
//! look alike.

use super::change::{Change, Move};
use super::reinstate::reinstate;
use super::rollback;
use super::situation::Situation;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::Upgrade;

/// Another trial, or the end of the request.
pub(super) fn after_trial(up: &Upgrade, s: &Situation<'_>) -> Move {
    if up.attempt.default.is_moved()
        && let Some(first) = reinstate(up, s)
    {
        return first;
    }
    if up
        .to
        .as_ref()
        .is_some_and(|to| s.seen.machine.default_is(to))
    {
        return rollback::chosen_by_hand(up, s);
    }
    if up.attempt.tries < s.policy.trials {
        return Move::look([Change::NextTrial]);
    }
    let reason = up.attempt.given_up.clone();
    let reason = reason.unwrap_or_else(|| Reason::NoVerdict {
        commit: up.short_commit(),
        tries: up.attempt.tries,
    });
    Move::look([Change::Phase(Phase::Reverting { reason })])
}
