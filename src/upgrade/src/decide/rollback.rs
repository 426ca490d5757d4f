//! Back to the old system for good: nothing armed, given back to its users, the new deployment
//! gone, then the answer. In a trial the way there is a reboot.

use super::change::{Change, Move};
use super::control;
use super::decision::Act;
use super::give_back::give_back;
use super::hold::hold_for_a_look;
use super::reinstate::{self, reinstate};
use super::safety;
use super::situation::Situation;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::{Step, StepKind};

/// Refused or failed reboots after which force is used: a bad trial must end.
const POLITE_REBOOTS: u32 = 2;

/// In the old system.
pub(super) fn revert(up: &Upgrade, reason: &Reason, s: &Situation<'_>) -> Move {
    if let Some(first) = s.backoff(up).or_else(|| control::give_up_the_raise(up)) {
        return first.into();
    }
    if let Some(first) = control::before_the_release(up, s) {
        return first;
    }
    if let Some(first) = give_back(up, s) {
        return first.into();
    }
    if up.attempt.default.is_moved() {
        if let Some(first) = reinstate(up, s) {
            return first;
        }
        if up
            .to
            .as_ref()
            .is_some_and(|to| s.seen.machine.default_is(to))
        {
            // What failed is booted next, and is not removed.
            return chosen_by_hand(up, s);
        }
    }
    if !up.cleaned {
        // Also without a commit: an agent that was restarted does not know whether a fetch runs.
        let commit = up.target.commit.clone();
        return Move::begin(Step::Undo { commit });
    }
    if !up.has_let_go() {
        // Our cordon and our lock stay until the API server can be told.
        return Move::wait();
    }
    let reason = reason.clone();
    Move::wait().after([Change::Phase(Phase::Failed { reason })])
}

/// The new system is the default and somebody booted the old one from the menu. The old one is
/// proven and serves, so it must not stay cordoned. Only a person can say which of the two stays.
pub(super) fn chosen_by_hand(up: &Upgrade, s: &Situation<'_>) -> Move {
    if let Some(wait) = s.backoff(up) {
        return wait.into();
    }
    if let Some(first) = control::before_the_release(up, s) {
        return first;
    }
    if let Some(first) = give_back(up, s) {
        return first.into();
    }
    let foreign = Change::GiveUp(s.seen.machine.foreign_default());
    Move::wait().after(up.has_let_go().then_some(foreign))
}

/// In a trial: every exit that is not the blessing is a reboot, which is the old system.
pub(super) fn leave(up: &Upgrade, s: &Situation<'_>) -> Move {
    if let Some(first) = safety::disarm(Some(up), s) {
        return first.into();
    }
    let first = up.attempt.default.reinstated().is_none() && s.seen.machine.trial;
    let reinstate = || reinstate(up, s).filter(|_| first && reinstate::is_moved(up, s));
    let stay = || control::before_the_way_back(up, s).map(|stay| stay.after([hold_for_a_look(s)]));
    let next = reinstate().or_else(stay).unwrap_or_else(|| reboot(up, s));
    next.after(reinstate::note(up, s))
}

fn reboot(up: &Upgrade, s: &Situation<'_>) -> Move {
    if s.seen.machine.runs_default() && !reinstate::was_tried(up, s) {
        // A reboot would lead here again, for ever.
        return Move::wait().after([Change::GiveUp(s.seen.machine.foreign_default())]);
    }
    let retry = up.retry.as_ref();
    let failed = retry
        .filter(|retry| retry.is_of(StepKind::Reboot))
        .map_or(0, |retry| retry.tries);
    // Only a reboot that failed is waited for: the pause of kubeadm's next try keeps nobody here.
    let pause = s.backoff(up).filter(|_| failed > 0);
    let force = failed >= POLITE_REBOOTS;
    pause.unwrap_or(Act::Begin(Step::Reboot { force })).into()
}
