//! What comes next: record × observation × policy → decision.
//!
//! [`decide`] derives the situation, takes in how the last step ended, and looks up the next move:
//! guards first, in one order, then the table of phase × running system. A rule returns a value and
//! changes nothing; [`write`] alone writes the record. A move without an act leads to another
//! phase, and the table is looked up again. Each such move goes forward, so no rule is asked twice.
//! One goes back: from `Healthy` to `Trial`, which then has no verdict of healthy.
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
mod decision;
mod deploy;
mod drain;
mod ended;
pub(crate) mod facts;
mod failed;
mod fetch;
mod give_back;
mod guard;
mod hours;
mod judge;
mod marks;
pub(crate) mod memory;
mod no_record;
mod no_verdict;
mod past;
mod prepare;
mod ready;
mod reinstate;
mod rollback;
mod running;
mod safety;
mod serving;
mod signatures;
mod situation;
mod soak;
mod stage;
mod table;
mod trial;
mod unreached;
pub(crate) mod wanted;
mod withdrawn;
mod write;

pub use decision::{Act, Decision, Journal};

pub use crate::record::RecordRead;

use change::{Move, Then};
use no_record::without_a_record;
use situation::Situation;
use write::{Next, write};

use crate::history;
use crate::limits;
use crate::observe::Observation;
use crate::policy::{Policy, PolicyRead, in_force};
use crate::record::Record;
use crate::step::Home;

/// Time for the Node to show how one request ended before the next is taken, in seconds.
const ANSWER: u64 = 1;

/// The most moves without an act in one decision: from a trial that has ended to the next one.
const MOVES: usize = 8;

/// What to do next. Total: there is a decision for every record, observation and policy.
pub fn decide(seen: &Observation, read: &RecordRead, policy: &PolicyRead) -> Decision {
    let Ok(record) = read else {
        let s = Situation::of(seen, policy, in_force(policy));
        return Decision::new(None, without_a_record(&s));
    };
    let in_force = with_the_past(in_force(policy), record);
    let s = Situation::of(seen, policy, &in_force);
    let mut next = Next::of(record);
    let act = match seen.turn.home {
        Home::Stage => stage(&mut next, &s),
        Home::Agent => agent(&mut next, &s),
    };
    let notes = close::notes(record, next.upgrade(), &act, &s);
    write(&mut next, notes, &s);
    Decision::new(next.into_record(record), act)
}

/// The policy, with what it leaves to this node's own past.
fn with_the_past(policy: &Policy, record: &Record) -> Policy {
    let mut policy = policy.clone();
    policy.window.usual_seconds = history::usually_kept(&record.past);
    let upgrade = record.upgrade.as_ref();
    let measured = upgrade.and_then(|upgrade| upgrade.served.came_up_in());
    policy.health.deadline_seconds = limits::trial(&policy.health, measured);
    policy
}

/// In the initramfs: the guard's look at this boot.
fn stage(next: &mut Next, s: &Situation<'_>) -> Act {
    let found = stage::stage(next.upgrade(), s);
    make(found, next, s).unwrap_or(Act::Wait(None))
}

/// In a running system.
fn agent(next: &mut Next, s: &Situation<'_>) -> Act {
    write(next, ended::fold(next.upgrade(), next.rest(), s), s);
    // What has just ended is answered first, or its request would be taken again.
    write(next, close::end(next.upgrade()), s);
    write(next, close::nothing_asked(s), s);
    let act = marks::look_again(moves(next, s), s);
    write(next, close::end(next.upgrade()), s);
    if act != Act::Wait(None) || s.seen.turn.running.is_some() {
        return act;
    }
    if close::another_asks(next.upgrade(), next.rest(), s) {
        return s.wait_seconds(ANSWER);
    }
    // Nothing else wakes the agent for them once the upgrade has ended.
    accept::settle(next.upgrade(), s)
}

/// Makes one move after the other, until one has an act.
fn moves(next: &mut Next, s: &Situation<'_>) -> Act {
    if let Some(act) = first(next, s).and_then(|found| make(found, next, s)) {
        return act;
    }
    let mut within_the_hours = false;
    for _ in 0..MOVES {
        let found = look_up(next, s);
        within_the_hours |= matches!(found.then, Then::LookWithinTheHours);
        match make(found, next, s) {
            Some(act) if within_the_hours => return s.until_the_hours_end(act),
            Some(act) => return act,
            None => {}
        }
    }
    Act::Wait(None)
}

/// What comes before everything else: a step that runs, or a mark of ours that nothing explains.
fn first(next: &Next, s: &Situation<'_>) -> Option<Move> {
    match &s.seen.turn.running {
        Some(step) => Some(running::while_running(step, next.upgrade(), s)),
        None => marks::remove(next.upgrade(), s),
    }
}

/// The next move: of the upgrade under way, or of a node without one.
fn look_up(next: &Next, s: &Situation<'_>) -> Move {
    match next.upgrade() {
        Some(up) if !up.is_over() => {
            let found = guard::guard(up, s).unwrap_or_else(|| table::table(up, s));
            found.after(guard::note(up, s))
        }
        last => accept::idle(last, next.rest(), s),
    }
}

/// Writes what a move changes, and gives its act, if it has one.
fn make(found: Move, next: &mut Next, s: &Situation<'_>) -> Option<Act> {
    write(next, found.changes, s);
    match found.then {
        Then::Act(act) => Some(act),
        Then::Look | Then::LookWithinTheHours => None,
    }
}
