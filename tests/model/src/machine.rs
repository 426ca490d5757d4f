//! What happens without faults: exactly one next state, or none at rest.

use upgrade::control_plane::Task;
use upgrade::{Api, Home, Observation, Phase, deadman};

use crate::brain::{act_of, phase};
use crate::cast;
use crate::kept::Kept;
use crate::look::{fails, is_well, is_well_by_itself, look, serves};
use crate::mistakes::Mutant;
use crate::mutant;
use crate::world::{Act, Answer, Do, Flaw, Link, Pc, State, Told};
use crate::{boot, plane, promises, steps};

/// The next state, if there is one.
#[must_use]
pub fn calm(mutant: Option<Mutant>, state: &State) -> Option<State> {
    let mut next = state.clone();
    let goes_on = match next.pc.clone() {
        Pc::Loader => {
            boot::load(&mut next);
            true
        }
        Pc::Guard => {
            boot::guard(mutant, &mut next);
            true
        }
        Pc::GuardWrites(record, act) => {
            store(&mut next, record);
            next.pc = Pc::GuardActs(act);
            true
        }
        Pc::GuardActs(act) => {
            boot::guard_acts(&mut next, act);
            true
        }
        Pc::Units(part) => {
            boot::units(mutant, &mut next, part);
            true
        }
        Pc::Turn(finished) => turn(mutant, &mut next, finished),
        Pc::Writes(record, act) => {
            store(&mut next, record);
            next.pc = Pc::Acts(act);
            true
        }
        Pc::Acts(act) => {
            tell(mutant, &mut next);
            acts(&mut next, act);
            true
        }
        Pc::Doing(what, part, etc) => {
            doing(mutant, &mut next, (what, part, etc));
            true
        }
        Pc::Waits(until) => wait(mutant, &mut next, until),
    };
    goes_on.then_some(next)
}

/// One turn of the agent's loop up to its decision. Returns false if there will never be another
/// turn.
fn turn(
    mutant: Option<Mutant>,
    state: &mut State,
    finished: Option<(Do, crate::world::End)>,
) -> bool {
    if state.suffers(Flaw::AgentDead) || state.running.dead {
        return without_agent(state);
    }
    if deadman_is_due(state) {
        boot::go_down(state);
        return true;
    }
    hear(state);
    plane::seen::note(state, finished);
    if mutant != Some(Mutant::OverlooksWhatNobodyHasPutBack) {
        boot::note_what_is_not_back(state);
    }
    let seen = look(state, Home::Agent, None, finished);
    // Shown in this boot, and true. The check of the blessing uses this.
    state.running.well |= seen.machine.on_trial() && is_proof(state, &seen);
    soak(state, &seen);
    state.ghost.unseen &= !seen.node.uncordoned;
    if state.running.link.asked == Some(None) {
        state.ghost.condemned = None;
    }
    let (record, act) = mutant::decide(mutant, state, &seen);
    let act = act_of(&act);
    state.ghost.unseen_mark &= !promises::leaves_a_mark(&seen, act);
    promises::decided(state, &seen, record.as_ref(), act);
    if mutant == Some(Mutant::ReportsBeforeTheWrite)
        && let Some(record) = &record
    {
        tell_of(state, record);
    }
    state.pc = match record {
        None => Pc::Acts(act),
        Some(record) if mutant == Some(Mutant::ActsBeforeTheWrite) => {
            promises::begun(state, act);
            acts(state, act);
            state.disk.record = Kept::new(record);
            state.pc.clone()
        }
        Some(record) => Pc::Writes(Kept::new(record), act),
    };
    true
}

/// Whether every check passes and the node serves as before. An operator who blesses without an API
/// server needs only the checks that need no API server, after the trial's deadline. The agent must
/// also have reached the server in this boot: the old system drained the node through it, so a new
/// system that never reached it proves nothing.
fn is_proof(state: &State, seen: &Observation) -> bool {
    let gone = state.running.reached && seen.node.api == Api::Away;
    let late = gone && state.running.now >= DEADLINE;
    let well = is_well(&seen.turn.health) && serves(&seen.turn.serving);
    well || state.alone && late && is_well_by_itself(&seen.turn.health)
}

/// Updates the data for the check of a careful operator's soak.
fn soak(state: &mut State, seen: &Observation) {
    let excused = state.alone && state.running.reached && seen.node.api == Api::Away;
    let fails = if excused {
        !is_well_by_itself(&seen.turn.health)
    } else {
        fails(&seen.turn.health)
    };
    if !state.careful || !seen.machine.on_trial() || fails {
        state.running.well_since = None;
    } else if is_proof(state, seen) {
        state.running.well_since.get_or_insert(state.running.now);
    }
}

/// Without an agent no health decision happens: the timer calls the deadman when its time has come.
fn without_agent(state: &mut State) -> bool {
    // A person who picked the system by hand notices that it does not work.
    if deadman_is_due(state) || state.running.picked {
        boot::go_down(state);
        return true;
    }
    let next = [Some(DEADMAN_AT), held_until(state)];
    let next = next.into_iter().flatten();
    let Some(next) = next.filter(|at| *at > state.running.now).min() else {
        return false;
    };
    state.running.now = next;
    true
}

/// The time until which the record tells the deadman of this boot to wait, in seconds.
fn held_until(state: &State) -> Option<u16> {
    let up = state.disk.record.record().upgrade.as_ref();
    let hold = up.and_then(|up| up.attempt.hold.as_ref());
    let hold = hold.filter(|hold| hold.boot == cast::boot_id(state.running.boot))?;
    u16::try_from(hold.at.0.div_ceil(1000)).ok()
}

/// Seconds until the operator's hours begin, or until the next check of the clock.
const TO_THE_HOURS: u16 = 3600;

/// The duration of a trial, by the policy's default.
const DEADLINE: u16 = 600;

/// When the deadman ends a trial whose record does not ask it to wait.
const DEADMAN_AT: u16 = 660;

fn deadman_is_due(state: &State) -> bool {
    let seen = look(state, Home::Agent, None, None);
    deadman::is_due(&seen, &Ok(state.disk.record.record().clone()))
}

/// Reads the changes from the watch. An agent that has just started decides once before it knows
/// anything. The agent learns the server's version one turn after it reaches the server.
fn hear(state: &mut State) {
    let (up, cluster, now) = (state.api_answers(), state.cluster, state.running.now);
    state.running.reached |= up && !state.running.link.fresh;
    let link = &mut state.running.link;
    if link.fresh {
        link.fresh = false;
    } else if up {
        (link.asked, link.paused) = (Some(cluster.ask), cluster.paused);
        (link.cordon, link.excluded) = (Some(cluster.cordon), cluster.excluded);
        link.shielded = cluster.shielded;
        link.since = Some(link.since.map_or((now, false), |(since, _)| (since, true)));
    } else {
        link.since = None;
    }
}

fn has_heard_all(state: &State) -> bool {
    let link = state.running.link;
    match link.since {
        None => !state.api_answers(),
        Some((_, versioned)) => state.api_answers() && versioned && !has_news(state),
    }
}

/// Whether the Node differs from the agent's last knowledge.
fn has_news(state: &State) -> bool {
    let (link, cluster) = (state.running.link, state.cluster);
    link.asked != Some(cluster.ask)
        || link.paused != cluster.paused
        || link.cordon != Some(cluster.cordon)
        || link.excluded != cluster.excluded
        || link.shielded != cluster.shielded
}

/// Waits: first for news, then for the requested moment. When there is nothing else to wait for, an
/// unavailable API server comes back, and then a pause ends.
fn wait(mutant: Option<Mutant>, state: &mut State, until: Option<u16>) -> bool {
    if has_heard_all(state) {
        if state.running.link.since.is_some() && has_to_tell(mutant, state) {
            // The reporter retries until the server accepts the report.
            tell(mutant, state);
            return true;
        }
        match until {
            Some(until) => {
                // No other wait takes as long.
                state.shut &= until < state.running.now.saturating_add(TO_THE_HOURS);
                // A time service sets the clock at last.
                state.running.unset = false;
                state.running.now = until.max(state.running.now.saturating_add(1));
                plane::fault::heal_while_it_waits(state);
                // The kernel has written the data back by then.
                state.disk.unflushed = None;
            }
            None if !state.cluster.up => state.cluster.up = true,
            None if state.cluster.paused => state.cluster.paused = false,
            None if plane::fault::heal(state) => {}
            // An agent that waits without an end in a trial runs into the deadman.
            None if state.running.trial && state.running.now < DEADMAN_AT => {
                state.running.now = DEADMAN_AT;
            }
            None if is_guest(state) => {
                boot::go_down(state);
                return true;
            }
            None => return false,
        }
    }
    state.pc = Pc::Turn(None);
    true
}

/// A person tries an unproven system by hand, and then boots back.
fn is_guest(state: &State) -> bool {
    state.running.picked && !state.ghost.proven.contains(&state.running.system.letter)
}

/// The record is on the disk from here on.
fn store(state: &mut State, record: Kept) {
    promises::stored(state, record.record());
    state.disk.record = record;
    // The record's flush also wrote the drive's pending data.
    state.disk.uncleared = None;
}

fn acts(state: &mut State, act: Act) {
    promises::begun(state, act);
    state.pc = match act {
        Act::Begin(what) => Pc::Doing(what, 0, state.disk.etc),
        // No running step is left to stop: a cancelled step ends in `Doing`.
        Act::Cancel => Pc::Waits(None),
        Act::Wait(until) => Pc::Waits(until),
    };
}

/// Continues a step, but first handles news that arrived meanwhile.
fn doing(mutant: Option<Mutant>, state: &mut State, (what, part, etc): (Do, u8, u8)) {
    let news = state.api_answers() && has_news(state);
    let listening = state.running.link.since.is_some();
    let looks = news && listening || state.is_outside_the_hours();
    if looks && part < steps::parts(what) && glance(mutant, state, what) {
        plane::promises::stopped(state, what);
        state.pc = Pc::Turn(Some((what, crate::world::End::Cancelled)));
        return;
    }
    steps::go_on(mutant, state, (what, part, etc));
}

/// Observes during a step. Returns whether the step must stop.
fn glance(mutant: Option<Mutant>, state: &mut State, what: Do) -> bool {
    hear(state);
    if state.running.link.asked == Some(None) {
        state.ghost.condemned = None;
    }
    let seen = look(state, Home::Agent, Some(what), None);
    let (record, act) = mutant::decide(mutant, state, &seen);
    promises::rises(state, record.as_ref());
    if let Some(record) = record {
        store(state, Kept::new(record));
    }
    act == upgrade::Act::Cancel
}

/// Whether the Node does not show the state on the disk.
fn has_to_tell(mutant: Option<Mutant>, state: &State) -> bool {
    let wanted = answer(state, state.disk.record.record());
    let was_accepted = wanted.is_some() && state.ghost.lost == wanted;
    let counts_as_told = was_accepted && mutant == Some(Mutant::TakesTheAcceptedForTold);
    state.cluster.told != wanted && !counts_as_told
}

/// Reports the state on the disk to the Node.
fn tell(mutant: Option<Mutant>, state: &mut State) {
    if has_to_tell(mutant, state) {
        let record = state.disk.record.record().clone();
        tell_of(state, &record);
    }
}

fn tell_of(state: &mut State, record: &upgrade::Record) {
    if state.api_answers() && state.running.link.since.is_some() {
        state.cluster.told = answer(state, record);
        state.ghost.lost = None;
        if state.cluster.told != answer(state, state.disk.record.record()) {
            state.breaks("I7: the Node is told only what is written");
        }
    }
}

/// The answer for the Node that follows from a record.
#[must_use]
pub fn answer(state: &State, record: &upgrade::Record) -> Option<Told> {
    let seen = look(state, Home::Agent, None, None);
    let report = upgrade::report(&Ok(record.clone()), &seen, None)?;
    Some(Told {
        answer: match report.answer? {
            upgrade::report::Answer::InProgress => Answer::InProgress,
            upgrade::report::Answer::Upgraded => Answer::Upgraded,
            upgrade::report::Answer::Failed => Answer::Failed(report.reason.is_some()),
        },
        id: report.status.id.as_ref().map(cast::id_number),
    })
}

/// The agent dies and starts again in the same boot.
pub fn restart(state: &mut State) {
    // The agent also loses its knowledge of the cordon.
    let is_taken =
        phase(state).is_some_and(|phase| matches!(phase, Phase::Drained | Phase::Armed { .. }));
    state.ghost.unseen |= is_taken && state.cluster.pods;
    if matches!(state.pc, Pc::Doing(Do::Control(Task::Raise), ..)) {
        plane::raise::is_left(state);
    }
    state.running.link = Link::NEW;
    state.running.started = state.running.now;
    state.pc = Pc::Turn(None);
}
