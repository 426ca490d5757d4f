//! What comes next: record × observation × policy → decision.
//!
//! [`decide`] does five things, in this order:
//!
//! 1. It derives the [`Situation`] once, from the observation and the policy in force.
//! 2. It folds what has ended into the next record.
//! 3. It asks the guards: those of every phase once, then those of the upgrade under way.
//! 4. It looks up the table of phase × running system. With no upgrade under way, it answers the
//!    request.
//! 5. It closes what ends now, and returns the record with the act.
//!
//! A rule returns a [`Move`]: changes of the record, and perhaps an act. It changes nothing itself,
//! because [`NextRecord`] alone writes. After a move without an act, `decide` asks the guards of the
//! upgrade and the table again, with the changed record. So a rule may be asked more than once in a
//! decision. Each such move goes forward to another phase, except one: from `Healthy` back to
//! `Trial`, which then has no verdict of healthy. The number of moves has a limit.
#![deny(clippy::wildcard_enum_match_arm)]

// The situation, a rule's answer, and the record that the answers change.
mod change;
mod decision;
mod situation;
mod write;

// What has ended.
mod ended;
pub(crate) mod facts;
mod failed;
pub(crate) mod memory;

// What comes before the table.
mod allowed;
mod guard;
mod marks;
mod no_record;
mod running;
mod safety;
mod stage;
mod withdrawn;

// The table, and the rules in the order of an upgrade.
mod accept;
mod alone;
mod arm;
mod bless;
mod comeback;
mod control;
mod deploy;
mod drain;
mod fetch;
mod give_back;
mod hold;
mod hours;
mod judge;
mod no_verdict;
mod prepare;
mod ready;
mod reinstate;
mod rollback;
mod serving;
mod signatures;
mod soak;
mod table;
mod trial;
mod unreached;
pub(crate) mod wanted;

// The notes that every decision makes.
mod bill;
mod close;
mod past;

pub use decision::{Act, Decision, RecordStore};

pub use crate::record::RecordRead;

use change::Move;
use situation::Situation;
use write::NextRecord;

use crate::history;
use crate::limits;
use crate::observe::Observation;
use crate::policy::{Policy, PolicyRead, in_force};
use crate::record::Record;
use crate::step::Home;

/// How long the Node shows the answer to one request before the agent takes the next, in seconds.
const SHOW_THE_ANSWER: u64 = 1;

/// The most moves in one decision: from a trial that has ended to the next one. More would be a
/// fault of the rules. The agent then waits, which is safe in every phase.
const MOST_MOVES: usize = 8;

/// What to do next. Total: there is a decision for every record, observation and policy.
pub fn decide(seen: &Observation, read: &RecordRead, policy: &PolicyRead) -> Decision {
    let Ok(record) = read else {
        let s = Situation::of(seen, policy, in_force(policy));
        return Decision::new(None, no_record::without_a_record(&s));
    };
    let in_force = fitted_to_this_node(in_force(policy), record);
    let s = Situation::of(seen, policy, &in_force);
    let mut next = NextRecord::of(record, &s);
    let act = match seen.turn.home {
        Home::Stage => in_the_initramfs(&mut next, &s),
        Home::Agent => in_a_running_system(&mut next, &s),
    };
    next.write(close::notes_of_this_decision(record, &next, &act, &s));
    Decision::new(next.if_changed(record), act)
}

/// The policy, with the values that this node's past upgrades determine.
fn fitted_to_this_node(policy: &Policy, record: &Record) -> Policy {
    let mut policy = policy.clone();
    policy.window.usual_seconds = history::usually_kept(&record.past);
    let upgrade = record.upgrade.as_ref();
    let measured = upgrade.and_then(|upgrade| upgrade.served.came_up_in());
    policy.health.deadline_seconds = limits::trial(&policy.health, measured);
    policy
}

/// In the initramfs, the guard decides whether this boot goes on.
fn in_the_initramfs(next: &mut NextRecord<'_>, s: &Situation<'_>) -> Act {
    let found = stage::pass_or_reboot(next.upgrade(), s);
    next.apply(found).unwrap_or(Act::Wait(None))
}

/// In a running system, the agent folds what ended, finds the next act, and closes what ends now.
fn in_a_running_system(next: &mut NextRecord<'_>, s: &Situation<'_>) -> Act {
    next.write(ended::fold_what_ended(next, s));
    // What has just ended is answered first, or its request would be taken again.
    next.write(close::if_ended(next));
    next.write(close::if_nobody_asks(s));
    let act = next_act(next, s);
    let act = marks::wake_for_a_stale_mark(act, s);
    next.write(close::if_ended(next));
    if act == Act::Wait(None) && s.seen.turn.running.is_none() {
        return before_a_long_wait(next, s);
    }
    act
}

/// Guards first, then the table: one move after the other, until one has an act.
fn next_act(next: &mut NextRecord<'_>, s: &Situation<'_>) -> Act {
    let first = guard_of_every_phase(next, s);
    if let Some(act) = first.and_then(|found| next.apply(found)) {
        return act;
    }
    let mut within_the_hours = false;
    for _ in 0..MOST_MOVES {
        let found = next_move(next, s);
        within_the_hours |= found.within_the_hours;
        match next.apply(found) {
            Some(act) if within_the_hours => return s.wake_when_the_hours_end(act),
            Some(act) => return act,
            None => {}
        }
    }
    Act::Wait(None)
}

/// The guards of every phase: a step that runs, then a stale mark of Careen's.
fn guard_of_every_phase(next: &NextRecord<'_>, s: &Situation<'_>) -> Option<Move> {
    match &s.seen.turn.running {
        Some(step) => Some(running::while_running(step, next.upgrade(), s)),
        None => marks::remove_stale_mark(next.upgrade(), s),
    }
}

/// The next move: of the upgrade under way by its guards and the table, or of a node without one.
fn next_move(next: &NextRecord<'_>, s: &Situation<'_>) -> Move {
    match next.upgrade() {
        Some(upgrade) if !upgrade.is_over() => {
            let guards = guard::first(upgrade, s);
            let found = guards.unwrap_or_else(|| table::by_phase_and_system(upgrade, s));
            found.after(guard::server_reached(upgrade, s))
        }
        Some(_) | None => accept::without_an_upgrade(next, s),
    }
}

/// The agent may wait for hours now. So it looks for a request that came meanwhile, and for shields
/// that the node no longer needs.
fn before_a_long_wait(next: &NextRecord<'_>, s: &Situation<'_>) -> Act {
    if close::another_request_is_there(next, s) {
        return s.wait_seconds(SHOW_THE_ANSWER);
    }
    accept::remove_shields(next.upgrade(), s)
}
