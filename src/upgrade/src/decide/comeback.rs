//! The old system runs after a trial, and no verdict was written: a power cut, a panic and a hang
//! look alike in the record.

use super::change::{Change, Move};
use super::no_verdict::{evidence, no_verdict};
use super::reinstate::reinstate;
use super::rollback;
use super::situation::Situation;
use crate::phase::Phase;
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
        let shown = evidence(up, s).map(Change::EndedBy);
        return Move::look([Change::NextTrial]).after(shown);
    }
    let reason = up.attempt.given_up.clone();
    let reason = reason.unwrap_or_else(|| no_verdict(up, s));
    Move::look([Change::Phase(Phase::Reverting { reason })])
}
