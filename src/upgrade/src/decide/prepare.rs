//! The way to the trial, from `Accepted` to `Drained`: the next step towards the arming.

use super::change::{Change, Move};
use super::decision::Act;
use super::situation::Situation;
use super::{control, deploy, drain, fetch, hours, ready, signatures, wanted};
use crate::observe::Asked;
use crate::phase::Phase;
use crate::record::{Rehearsal, Upgrade};
use crate::step::Step;

/// The next step, within the operator's hours and unless the Node is paused.
pub(super) fn prepare(up: &Upgrade, s: &Situation<'_>) -> Move {
    let paused = is_paused(up, s);
    let note = Change::Paused(paused);
    // A node that was taken from its users is given back with the end of the hours, paused or not.
    if let Some(closed) = hours::closed(up, s) {
        return closed.after([note]);
    }
    let wait = paused.then_some(Act::Wait(None)).or_else(|| s.backoff(up));
    let next = wait.map_or_else(|| next(up, s), Move::act);
    next.within_the_hours().after([note, Change::Waits(None)])
}

/// Whether the requester has paused the Node: then no further step to the arming begins. Until the
/// Node is seen again, what was seen last holds.
fn is_paused(up: &Upgrade, s: &Situation<'_>) -> bool {
    match s.seen.node.request {
        Asked::Unknown => up.paused,
        Asked::Nothing | Asked::This(_) => s.seen.node.paused.is_some(),
    }
}

fn next(up: &Upgrade, s: &Situation<'_>) -> Move {
    // Without a commit there is nothing but a fetch, whatever the phase says.
    let Some(commit) = up.target.commit.clone() else {
        return fetch::fetch(up, s);
    };
    if up.phase != Phase::Accepted && signatures::lack_the_verdict_of_skopeo(up, s.policy) {
        return fetch::again(up, s);
    }
    match &up.phase {
        Phase::Accepted => fetch::fetch(up, s),
        Phase::Fetched => Move::begin(Step::Verify { commit }),
        Phase::Verified => verified(up, s),
        Phase::Deployed if up.redo.deploying || signatures::ask_for_more(up, s.policy) => {
            deploy::again(up, s)
        }
        // Pre-hooks may write there, so a node that is taken goes on.
        Phase::Deployed if s.seen.machine.etc_stale && up.custody.taken().is_none() => {
            deploy::again_while_etc_changes(up, s)
        }
        Phase::Deployed => take(up, s),
        Phase::Drained => ready::drained(up, s),
        // The table leads none of these here.
        Phase::Armed { .. }
        | Phase::Trial { .. }
        | Phase::Healthy { .. }
        | Phase::Blessed
        | Phase::Upgraded
        | Phase::Reverting { .. }
        | Phase::Failed { .. }
        | Phase::Halted { .. } => Move::wait(),
    }
}

/// What holds of the machine may have changed while the upgrade waited for its hours. A node that
/// is taken goes on.
fn take(up: &Upgrade, s: &Situation<'_>) -> Move {
    match wanted::check_machine(s.seen) {
        Err(reason) if up.custody.taken().is_none() => Move::give_up(reason),
        // Nobody uses the machine, so there is nothing to take.
        Ok(()) | Err(_) if !s.joined => Move::look([Change::Phase(Phase::Drained)]),
        Ok(()) | Err(_) => {
            control::before_the_drain(up, s).unwrap_or_else(|| drain::take(up, &up.custody, s))
        }
    }
}

fn verified(up: &Upgrade, s: &Situation<'_>) -> Move {
    match s.skew(up) {
        None => Move::wait(),
        Some(Err(reason)) => Move::give_up(reason),
        Some(Ok(())) => control::before_the_deployment(up, s)
            .or_else(|| rehearse(up).filter(|_| s.joined))
            .unwrap_or_else(|| deploy::deploy(up, s)),
    }
}

fn rehearse(up: &Upgrade) -> Option<Move> {
    (up.rehearsal == Rehearsal::Due).then(|| Move::begin(Step::Rehearse))
}
