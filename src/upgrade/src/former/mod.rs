//! The table: record × observation → decision.
//!
//! [`decide`] first folds in the outcome of the step that has just ended, then takes note of the request, then looks up what
//! comes next by phase and by which system runs. Each arm is a short function in the module named after the system it runs in.
//! No arm is a wildcard: whoever adds a phase or a step is asked everywhere what becomes of it.
//!
//! This is the former way to decide. It is built where decisions are compared (feature `compare`),
//! until both have given the same decision everywhere. Then it is deleted.
#![deny(clippy::wildcard_enum_match_arm)]
#![allow(dead_code)] // a plan asks the present functions

pub(crate) mod accept;
mod allowed;
mod alone;
mod arm;
mod called_off;
mod charge;
mod connecting;
mod disarm;
pub(crate) mod facts;
mod failed;
mod fold;
mod hold;
mod judge;
mod kubeadm;
mod marks;
pub(crate) mod memory;
mod new;
mod old;
mod reinstate;
mod soak;
mod stage;
mod take;
mod uncounted;

use crate::decide::{Act, Decision, RecordRead};

use called_off::called_off;
use disarm::disarm;

use crate::history::{self, Past};
use crate::observe::{Api, Asked, Observation};
use crate::phase::Phase;
use crate::policy::{Policy, PolicyRead, in_force};
use crate::reason::{Disposition, Reason};
use crate::record::{BadImage, Reached, Record, Upgrade};
use crate::step::{Home, Step};

/// Time for the Node to be told how one request ended before the next is taken, in seconds.
const ANSWER: u64 = 1;

/// How many reached phases are kept; an upgrade with all its tries has fewer.
const REACHED: usize = 64;

/// What to do next. Total: there is a decision for every record, observation and policy.
pub fn decide(seen: &Observation, read: &RecordRead, policy: &PolicyRead) -> Decision {
    let Ok(record) = read else {
        return Decision::new(None, unreadable(seen));
    };
    let mut next = record.clone();
    let act = match seen.home {
        Home::Stage => stage::act(&mut next, seen),
        Home::Agent => agent(&mut next, seen, policy),
    };
    if let Act::Begin(step) = &act {
        note_intent(&mut next, step);
    }
    charge::charge_waiting(&mut next, seen, &act);
    note_reached(&mut next, seen.wall);
    charge::charge(record, &mut next, seen, &act);
    if next == *record {
        return Decision::new(None, act);
    }
    next.generation = record.generation.saturating_add(1);
    Decision::new(Some(next), act)
}

/// Without a record nothing new is done and the record is left as it is, for a person to look at.
fn unreadable(seen: &Observation) -> Act {
    // From the default a reboot would lead here again, for ever.
    if seen.home == Home::Stage && seen.on_trial() {
        return Act::Begin(Step::Reboot { force: true });
    }
    if seen.on_trial() {
        return uncounted::leave_trial(seen);
    }
    match (seen.home, &seen.running) {
        (Home::Stage, _) => Act::Begin(Step::Pass),
        (Home::Agent, Some(_)) => Act::Wait(None),
        (Home::Agent, None) => disarm(None, seen).unwrap_or(Act::Wait(None)),
    }
}

fn agent(next: &mut Record, seen: &Observation, policy: &PolicyRead) -> Act {
    // An upgrade that is under way goes on with the last policy that held when somebody breaks it meanwhile.
    let in_force = &with_the_past(in_force(policy), &next.past);
    if let (Some(up), Some(finished)) = (&mut next.upgrade, &seen.finished) {
        fold::fold(up, finished, seen, in_force);
        memory::check_fetched(up, finished, &next.bad);
    }
    // What has just ended is answered before anything else is taken, or the request that still stands would be taken again.
    close(next, seen);
    if seen.request == Asked::Nothing {
        next.spent = None;
        next.bad.iter_mut().for_each(|bad| bad.asked_again = true);
    }
    let act = match (&seen.running, &mut next.upgrade) {
        (Some(step), up) => while_running(step, up.as_mut(), seen, in_force),
        (None, up) => match (marks::take_off(up.as_mut(), seen, in_force), up) {
            (Some(first), _) => first,
            (None, Some(up)) if !up.phase.is_end() => go_on(up, seen, in_force),
            (None, Some(_) | None) => accept::idle(next, seen, policy),
        },
    };
    let act = marks::look_again(act, seen);
    close(next, seen);
    if act == Act::Wait(None) && asks_anew(next, seen) {
        return Act::Wait(Some(seen.now.plus_seconds(ANSWER)));
    }
    act
}

/// The policy, with what it leaves to this node's own past.
fn with_the_past(policy: &Policy, past: &[Past]) -> Policy {
    let mut policy = policy.clone();
    policy.window.usual_seconds = history::usually_kept(past);
    policy
}

/// Whether an upgrade has ended over another request, which stands already: nothing would change any more to wake us for it,
/// but for an API server that is away and comes back.
fn asks_anew(next: &Record, seen: &Observation) -> bool {
    let ended = next.upgrade.as_ref().is_some_and(|up| up.phase.is_end());
    ended
        && matches!(seen.api, Api::Reached { .. })
        && seen.running.is_none()
        && seen.paused.is_none()
        && next.unanswered(&seen.request).is_some()
}

/// A withdrawn request, or another Node, stops what can be stopped; a step inside libostree's swap is left to end.
fn while_running(
    step: &Step,
    up: Option<&mut Upgrade>,
    seen: &Observation,
    policy: &Policy,
) -> Act {
    let stoppable = matches!(
        step,
        Step::Fetch { .. } | Step::Verify { .. } | Step::Rehearse
    ) || hold::takes(step);
    match up {
        Some(up) if stoppable && called_off(up, seen).is_some() => Act::Cancel,
        Some(up) if *step == Step::Kubeadm => new::while_kubeadm(up, seen, policy),
        Some(_) if hold::takes(step) => hold::while_taking(seen, policy),
        Some(_) | None => Act::Wait(None),
    }
}

/// Which of the two systems runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Old,
    New,
    Other,
}

impl System {
    fn of(up: &Upgrade, seen: &Observation) -> Self {
        if up.to.as_ref().is_some_and(|to| to.same(&seen.booted)) {
            Self::New
        } else if up.from.same(&seen.booted) {
            Self::Old
        } else {
            Self::Other
        }
    }
}

/// The table itself: what comes next, by phase and by which system runs.
fn go_on(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    use Phase as P;
    match (&up.phase, System::of(up, seen)) {
        (P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained, System::Old) => {
            old::prepare(up, seen, policy)
        }
        (P::Armed { boot }, System::Old) if *boot == seen.boot => arm::armed(up, seen, policy),
        (P::Armed { .. } | P::Trial { .. } | P::Healthy { .. } | P::Blessed, System::Old) => {
            old::after_trial(up, seen, policy)
        }
        (P::Reverting { .. }, System::Old) => old::revert(up, seen),
        (P::Armed { .. } | P::Trial { .. }, System::New) => new::trial(up, seen, policy),
        (P::Healthy { .. }, System::New) => new::healthy(up, seen),
        (P::Blessed, System::New) => new::blessed(up, seen),
        (P::Reverting { .. }, System::New) => new::leave(up, seen),
        (P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained, System::New)
        | (_, System::Other) => unknown_system(up, seen),
        (P::Upgraded | P::Failed { .. } | P::Halted { .. }, System::Old | System::New) => {
            Act::Wait(None)
        }
    }
}

/// A system runs that this upgrade does not know, or knows but never armed.
fn unknown_system(up: &mut Upgrade, seen: &Observation) -> Act {
    if seen.on_trial() {
        return uncounted::leave_trial(seen);
    }
    let booted = seen.booted.digest.short().to_owned();
    up.phase = Phase::Halted {
        reason: Reason::UnknownSystem { booted },
    };
    Act::Wait(None)
}

/// Ends or turns back an upgrade, as the reason's disposition says. `Retry` here means that its tries are used up.
fn give_up(up: &mut Upgrade, reason: Reason) {
    up.retry = None;
    up.waits = None;
    up.phase = match reason.disposition() {
        Disposition::Retry | Disposition::RollBack => Phase::Reverting { reason },
        Disposition::Halt => Phase::Halted { reason },
    };
}

/// When an upgrade has come to its end: the request is spent, and a bad image remembered. One that was withdrawn is not spent: it was
/// taken back or another stood in its place, so whoever sets it again asks again, also while the way back is still being taken.
fn close(next: &mut Record, seen: &Observation) {
    let Some(up) = &next.upgrade else { return };
    if !up.phase.is_end() || up.closed {
        return;
    }
    let bad = blamed(up);
    next.tally.count(up);
    history::remember(&mut next.past, Past::ended(up, seen.into()));
    let reason = Reason::Withdrawn;
    next.spent = (up.phase != Phase::Failed { reason }).then(|| up.request.clone());
    next.answered = next.answered.saturating_add(1);
    if let Some(up) = &mut next.upgrade {
        up.closed = true;
        up.intent = None;
    }
    if let Some(bad) = bad {
        next.remember_bad(bad);
    }
}

/// The image, when it is to blame.
fn blamed(up: &Upgrade) -> Option<BadImage> {
    let Phase::Failed { reason } = &up.phase else {
        return None;
    };
    let digest = up.commit().filter(|_| reason.blames_image())?;
    Some(BadImage {
        digest: digest.clone(),
        because: reason.code(),
        id: up.id.clone(),
        asked_again: false,
    })
}

/// The step that is about to begin, for whoever reads the record after a crash. An older version reads no record that names a step which it
/// does not know.
fn note_intent(next: &mut Record, step: &Step) {
    if *step == Step::Unmark {
        // Nobody has to finish it: a mark that is left is seen on the Node.
        return;
    }
    let known = !matches!(step, Step::Reinstate { .. });
    if let Some(up) = next.upgrade.as_mut().filter(|up| !up.phase.is_end()) {
        up.intent = Some(step.clone()).filter(|_| known);
    }
}

fn note_reached(next: &mut Record, wall: u64) {
    let Some(up) = &mut next.upgrade else { return };
    let phase = up.phase.name();
    if up.reached.last().is_none_or(|last| last.phase != phase) && up.reached.len() < REACHED {
        up.reached.push(Reached {
            phase: phase.to_owned(),
            at: wall,
            waited: 0,
        });
    }
}
