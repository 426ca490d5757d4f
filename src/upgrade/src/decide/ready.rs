//! The node is drained: whether the way into the trial is still free, and what must be done first.

use super::change::{Change, Move};
use super::situation::Situation;
use super::{arm, control, deploy, drain, signatures, wanted};
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::Step;

/// The next step to the arming.
pub(super) fn drained(up: &Upgrade, s: &Situation<'_>) -> Move {
    if let Some(wait) = s.unheard() {
        // After a trial: the request may have been withdrawn, or the API server upgraded.
        return wait.into();
    }
    if let Some(Err(reason)) = s.skew(up) {
        return Move::give_up(reason);
    }
    let must_compare = must_compare(up);
    if must_compare && !s.reached {
        return Move::wait();
    }
    settled(up, s).after(must_compare.then_some(Change::OldCompared))
}

/// The last trial ended without the API server: only when this system reaches one is there
/// something to compare.
fn must_compare(up: &Upgrade) -> bool {
    let saw_none = matches!(
        up.attempt.given_up,
        Some(Reason::ApiAwayInTrial { .. } | Reason::NoApiFromNewSystem { .. })
    );
    saw_none && !up.api.compared
}

fn settled(up: &Upgrade, s: &Situation<'_>) -> Move {
    if s.seen.node.uncordoned {
        return match drain::again(up, s) {
            Ok(first) => {
                let drain = || drain::take(up, &up.custody.before_the_drain(), s);
                let next = control::before_the_drain(up, s).unwrap_or_else(drain);
                next.after(first)
            }
            Err(reason) => Move::give_up(reason),
        };
    }
    if up.redo.deploying || signatures::ask_for_more(up, s.policy) {
        // A power cut came into it: the former deployment may be there still, or gone already.
        return deploy::again(up, s);
    }
    if let Err(reason) = wanted::check_machine(s.seen) {
        return Move::give_up(reason);
    }
    match arm::place(up, s) {
        Err(reason) => Move::give_up(reason),
        Ok(_) if s.seen.machine.etc_stale || !s.seen.machine.default_is_pinned() => {
            deploy::again_while_etc_changes(up, s)
        }
        Ok(_) if !up.attempt.saved => Move::begin(Step::Snapshot),
        Ok(deployment) => {
            control::before_the_arming(up, s).unwrap_or_else(|| arm::arm(up, deployment, s))
        }
    }
}
