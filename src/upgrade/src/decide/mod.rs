//! What comes next: record × observation × policy → decision.
//!
//! [`decide`] takes in how the last step ended, derives the situation once, and looks up the next
//! move: guards first, in one order, then the table of phase × running system. A rule returns a
//! value and changes nothing; `write` alone writes the record. A move may lead to another phase
//! without an act. Then the table is looked up again; each such move goes forward.
#![deny(clippy::wildcard_enum_match_arm)]

mod accept;
mod allowed;
mod alone;
mod arm;
mod bill;
mod bless;
mod change;
mod close;
mod comeback;
#[cfg(feature = "compare")]
mod compare;
mod decision;
mod deploy;
mod drain;
mod ended;
pub(crate) mod facts;
mod failed;
mod give_back;
mod guard;
mod hours;
mod judge;
mod marks;
pub(crate) mod memory;
mod prepare;
mod ready;
mod reinstate;
mod rollback;
mod running;
mod safety;
mod situation;
mod soak;
mod stage;
mod trial;
pub(crate) mod wanted;
mod withdrawn;
mod write;

#[cfg(feature = "compare")]
pub use compare::{Compared, compared, decide};
pub use decision::{Act, Decision, Journal};

use change::{Change, Move, Then};
use situation::{Situation, System};
use write::{Next, write};

use crate::history::{self, Past};
use crate::observe::Observation;
use crate::phase::Phase;
use crate::policy::{Policy, PolicyRead, in_force};
use crate::progress::Upgrade;
use crate::reason::Reason;
use crate::record::Record;
use crate::step::{Home, Step};

/// What was read of the record: `Ok(Record::default())` where there is none, and the reason to halt
/// where it cannot be read.
pub type RecordRead = Result<Record, Reason>;

/// Time for the Node to show how one request ended before the next is taken, in seconds.
const ANSWER: u64 = 1;

/// The most moves without an act in one decision: from a trial that has ended to the next one.
const MOVES: usize = 8;

/// What to do next. Total: there is a decision for every record, observation and policy.
#[cfg(not(feature = "compare"))]
pub fn decide(seen: &Observation, read: &RecordRead, policy: &PolicyRead) -> Decision {
    decided(seen, read, policy)
}

fn decided(seen: &Observation, read: &RecordRead, policy: &PolicyRead) -> Decision {
    let Ok(record) = read else {
        return Decision::new(None, without_a_record(seen, policy));
    };
    let in_force = with_the_past(in_force(policy), &record.past);
    let s = Situation::of(seen, policy, &in_force);
    let mut next = Next::of(record);
    let act = match seen.home {
        Home::Stage => stage(&mut next, &s),
        Home::Agent => agent(&mut next, &s),
    };
    let notes = notes(record, &next, &act, &s);
    write(&mut next, notes, &s);
    Decision::new(next.into_record(record), act)
}

/// Nothing new begins, and the record is left as it is for a person to look at.
fn without_a_record(seen: &Observation, read: &PolicyRead) -> Act {
    let s = Situation::of(seen, read, in_force(read));
    if seen.home == Home::Stage && seen.trial {
        return Act::Begin(Step::Reboot { force: true });
    }
    if seen.on_trial() {
        return safety::leave_trial(&s);
    }
    match (seen.home, &seen.running) {
        (Home::Stage, _) => Act::Begin(Step::Pass),
        (Home::Agent, Some(_)) => Act::Wait(None),
        (Home::Agent, None) => safety::disarm(None, &s).unwrap_or(Act::Wait(None)),
    }
}

/// The policy, with what it leaves to this node's own past.
fn with_the_past(policy: &Policy, past: &[Past]) -> Policy {
    let mut policy = policy.clone();
    policy.window.usual_seconds = history::usually_kept(past);
    policy
}

/// What every decision notes: the step that begins, the bill, the phase.
fn notes(before: &Record, next: &Next<'_>, act: &Act, s: &Situation<'_>) -> Vec<Change> {
    let Some(up) = next.upgrade() else {
        return Vec::new();
    };
    let intent = close::intent(up, act);
    let bill = bill::charge(before, up, act, s);
    let reached = close::reached(up, s);
    intent.into_iter().chain(bill).chain(reached).collect()
}

/// The guard's one look.
fn stage(next: &mut Next<'_>, s: &Situation<'_>) -> Act {
    let first = stage::stage(next.upgrade(), s);
    take(next, first, s).unwrap_or(Act::Wait(None))
}

fn agent(next: &mut Next<'_>, s: &Situation<'_>) -> Act {
    write(next, ended(next, s), s);
    // What has just ended is answered first, or its request would be taken again.
    write(next, close::end(next.upgrade()), s);
    write(next, close::nothing_asked(s), s);
    let act = marks::look_again(walk(next, s), s);
    write(next, close::end(next.upgrade()), s);
    if act == Act::Wait(None) && close::another_asks(next.upgrade(), next.rest(), s) {
        return s.wait_seconds(ANSWER);
    }
    act
}

/// What the step that has just ended means.
fn ended(next: &Next<'_>, s: &Situation<'_>) -> Vec<Change> {
    match (next.upgrade(), &s.seen.finished) {
        (Some(up), Some(finished)) => ended::ended(up, finished, &next.rest().bad, s),
        (None, _) | (_, None) => Vec::new(),
    }
}

/// The first move, then one after the other until one has an act.
fn walk(next: &mut Next<'_>, s: &Situation<'_>) -> Act {
    let first = match &s.seen.running {
        Some(step) => Some(running::while_running(step, next.upgrade(), s)),
        None => marks::remove(next.upgrade(), s),
    };
    if let Some(act) = first.and_then(|first| take(next, first, s)) {
        return act;
    }
    let mut within_the_hours = false;
    for _ in 0..MOVES {
        let found = look_up(next, s);
        within_the_hours |= matches!(found.then, Then::LookWithinTheHours);
        match take(next, found, s) {
            Some(act) if within_the_hours => return s.until_the_hours_end(act),
            Some(act) => return act,
            None => {}
        }
    }
    Act::Wait(None)
}

/// Writes a move down and gives its act, if it has one.
fn take(next: &mut Next<'_>, found: Move, s: &Situation<'_>) -> Option<Act> {
    write(next, found.changes, s);
    match found.then {
        Then::Act(act) => Some(act),
        Then::Look | Then::LookWithinTheHours => None,
    }
}

fn look_up(next: &Next<'_>, s: &Situation<'_>) -> Move {
    match next.upgrade() {
        Some(up) if !(up.phase.is_end() && up.closed) => {
            let found = guard::guard(up, s).unwrap_or_else(|| table(up, s));
            found.after(guard::note(up, s))
        }
        last => accept::idle(last, next.rest(), s),
    }
}

/// The table: phase × running system.
fn table(up: &Upgrade, s: &Situation<'_>) -> Move {
    use Phase as P;
    use System::{New, Old, Other};
    match (&up.phase, s.system(up)) {
        (P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained, Old) => {
            prepare::prepare(up, s)
        }
        (P::Armed { boot }, Old) if *boot == s.seen.boot => arm::armed(up, s),
        (P::Armed { .. } | P::Trial { .. } | P::Healthy { .. } | P::Blessed, Old) => {
            comeback::after_trial(up, s)
        }
        (P::Reverting { reason }, Old) => rollback::revert(up, reason, s),
        (P::Armed { .. }, New) => Move::look([Change::Enter(s.seen.boot.clone())]),
        (P::Trial { .. }, New) => trial::trial(up, s),
        (P::Healthy { .. }, New) => bless::healthy(up, s),
        (P::Blessed, New) => bless::blessed(up, s),
        (P::Reverting { .. }, New) => rollback::leave(up, s),
        (P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained, New) | (_, Other) => {
            unknown_system(s)
        }
        (P::Upgraded | P::Failed { .. } | P::Halted { .. }, Old | New) => Move::wait(),
    }
}

/// A system runs that this upgrade does not know, or knows but never armed.
fn unknown_system(s: &Situation<'_>) -> Move {
    if s.seen.on_trial() {
        return safety::leave_trial(s).into();
    }
    let booted = s.seen.booted.digest.short().to_owned();
    let reason = Reason::UnknownSystem { booted };
    Move::wait().after([Change::Phase(Phase::Halted { reason })])
}
