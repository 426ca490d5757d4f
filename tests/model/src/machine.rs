//! What happens when nothing breaks in: exactly one next state, or none at rest.

use upgrade::{Api, Home, Observation, Phase, Step, deadman};

use crate::cast::{self, System};
use crate::kept::Kept;
use crate::look::{fails, is_well, is_well_by_itself, look};
use crate::mutant::{self, Mutant};
use crate::world::{Act, Answer, Do, Flaw, Link, Pc, State, Told};
use crate::{boot, promises, steps};

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

/// One turn of the agent's loop up to its decision; false where nothing will ever turn it again.
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
    if mutant != Some(Mutant::OverlooksWhatNobodyHasPutBack) {
        boot::note_what_is_not_back(state);
    }
    let seen = look(state, Home::Agent, None, finished);
    // Shown in this boot, and true: what the blessing is judged by.
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

/// Whether everything is well; to an operator who blesses without an API server, what can be looked
/// at without one, after the trial's deadline. The old system has drained the node by that server,
/// so a new one that never reached it proves nothing.
fn is_proof(state: &State, seen: &Observation) -> bool {
    let gone = state.running.reached && seen.node.api == Api::Away;
    let late = gone && state.running.now >= DEADLINE;
    is_well(&seen.turn.health) || state.alone && late && is_well_by_itself(&seen.turn.health)
}

/// What the soak of a careful operator is judged by.
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

/// Nobody judges: the timer calls the deadman, once its time has come.
fn without_agent(state: &mut State) -> bool {
    // Whoever picked it by hand sees that nothing comes.
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

/// Until when the record asks the deadman of this boot for patience, in seconds.
fn held_until(state: &State) -> Option<u16> {
    let up = state.disk.record.record().upgrade.as_ref();
    let hold = up.and_then(|up| up.attempt.hold.as_ref());
    let hold = hold.filter(|hold| hold.boot == cast::boot_id(state.running.boot))?;
    u16::try_from(hold.at.0.div_ceil(1000)).ok()
}

/// Seconds until the operator's hours come, or the clock is looked at again.
const TO_THE_HOURS: u16 = 3600;

/// How long a trial has, by the policy's default.
const DEADLINE: u16 = 600;

/// When the deadman ends a trial whose record says nothing of patience.
const DEADMAN_AT: u16 = 660;

fn deadman_is_due(state: &State) -> bool {
    let seen = look(state, Home::Agent, None, None);
    deadman::is_due(&seen, &Ok(state.disk.record.record().clone()))
}

/// What the watch has brought since. An agent that has just started decides once before it knows anything; the server's
/// version is known one turn after the server is reached.
fn hear(state: &mut State) {
    let (up, cluster, now) = (state.api_answers(), state.cluster, state.running.now);
    state.running.reached |= up && !state.running.link.fresh;
    let link = &mut state.running.link;
    if link.fresh {
        link.fresh = false;
    } else if up {
        (link.asked, link.paused) = (Some(cluster.ask), cluster.paused);
        (link.cordon, link.excluded) = (Some(cluster.cordon), cluster.excluded);
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

/// Whether the Node says other than was heard.
fn has_news(state: &State) -> bool {
    let (link, cluster) = (state.running.link, state.cluster);
    link.asked != Some(cluster.ask)
        || link.paused != cluster.paused
        || link.cordon != Some(cluster.cordon)
        || link.excluded != cluster.excluded
}

/// Waits: for news first, for the moment asked for next; with nothing else to wait for, an absent API server comes back, and
/// then a pause ends.
fn wait(mutant: Option<Mutant>, state: &mut State, until: Option<u16>) -> bool {
    if has_heard_all(state) {
        if state.running.link.since.is_some() && has_to_tell(mutant, state) {
            // The reporter tries again until it is heard.
            tell(mutant, state);
            return true;
        }
        match until {
            Some(until) => {
                // Nobody waits as long for anything else.
                state.shut &= until < state.running.now.saturating_add(TO_THE_HOURS);
                state.running.now = until.max(state.running.now.saturating_add(1));
                // The kernel has written back by then.
                state.disk.unflushed = None;
            }
            None if !state.cluster.up => state.cluster.up = true,
            None if state.cluster.paused => state.cluster.paused = false,
            // Whoever waits for nothing in a trial has the deadman to reckon with.
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

/// A person tries an unproven system by hand, and boots back when they have seen it.
fn is_guest(state: &State) -> bool {
    state.running.picked && !state.ghost.proven.contains(&state.running.system.letter)
}

/// The record is on the disk from here on.
fn store(state: &mut State, record: Kept) {
    promises::stored(state, record.record());
    state.disk.record = record;
    // That was flushed, and with it what the drive had not written yet.
    state.disk.uncleared = None;
}

fn acts(state: &mut State, act: Act) {
    promises::begun(state, act);
    state.pc = match act {
        Act::Begin(what) => Pc::Doing(what, 0, state.disk.etc),
        // Nothing runs that could be stopped: a step that is cancelled ends while it is `Doing`.
        Act::Cancel => Pc::Waits(None),
        Act::Wait(until) => Pc::Waits(until),
    };
}

/// A step goes on; but news that come meanwhile are looked at first.
fn doing(mutant: Option<Mutant>, state: &mut State, (what, part, etc): (Do, u8, u8)) {
    let news = state.api_answers() && has_news(state);
    let listening = state.running.link.since.is_some();
    let looks = news && listening || state.shut;
    if looks && part < steps::parts(what) && glance(mutant, state, what) {
        state.pc = Pc::Turn(Some((what, crate::world::End::Cancelled)));
        return;
    }
    steps::go_on(mutant, state, (what, part, etc));
}

/// Looks while a step runs; whether it is to be stopped.
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

/// Whether the Node does not say what is on the disk.
fn has_to_tell(mutant: Option<Mutant>, state: &State) -> bool {
    let wanted = answer(state, state.disk.record.record());
    let was_accepted = wanted.is_some() && state.ghost.lost == wanted;
    let counts_as_told = was_accepted && mutant == Some(Mutant::TakesTheAcceptedForTold);
    state.cluster.told != wanted && !counts_as_told
}

/// The Node is told what is on the disk.
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

/// What the Node is to be told of a record.
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

/// The act as the model names it.
#[must_use]
pub fn act_of(act: &upgrade::Act) -> Act {
    match act {
        upgrade::Act::Begin(step) => Act::Begin(step_of(step)),
        upgrade::Act::Cancel => Act::Cancel,
        upgrade::Act::Wait(until) => Act::Wait(until.map(|at| {
            // Whole seconds, never too early; the model has no moment beyond a day.
            u16::try_from(at.0.div_ceil(1000)).unwrap_or(u16::MAX)
        })),
    }
}

fn step_of(step: &Step) -> Do {
    match step {
        Step::Fetch { .. } => Do::Fetch,
        Step::Verify { .. } => Do::Verify,
        Step::Rehearse => Do::Rehearse,
        Step::Deploy { commit } => Do::Deploy(cast::letter(commit)),
        Step::PreHooks => Do::PreHooks,
        Step::Exclude => Do::Exclude,
        Step::Drain { .. } => Do::Drain,
        Step::Snapshot => Do::Snapshot,
        Step::Arm { deployment } => Do::Arm(System::of(deployment)),
        Step::Disarm => Do::Disarm,
        Step::Reboot { force } => Do::Reboot(*force),
        Step::Kubeadm => Do::Kubeadm,
        Step::Bless { commit, .. } => Do::Bless(cast::letter(commit)),
        Step::Reinstate { .. } => Do::Reinstate,
        Step::PostHooks { upgraded } => Do::PostHooks(*upgraded),
        Step::Release => Do::Release,
        Step::Unmark => Do::Unmark,
        Step::Undo { commit } => Do::Undo(commit.as_ref().map_or('?', cast::letter)),
        Step::Clean => Do::Clean,
        Step::Pass => Do::Pass,
    }
}

/// The agent dies and is started again; the boot goes on.
pub fn restart(state: &mut State) {
    // What the agent knew of the cordon goes with it.
    let is_taken =
        phase(state).is_some_and(|phase| matches!(phase, Phase::Drained | Phase::Armed { .. }));
    state.ghost.unseen |= is_taken && state.cluster.pods;
    state.running.link = Link::NEW;
    state.running.started = state.running.now;
    state.pc = Pc::Turn(None);
}

/// The phase on the disk.
#[must_use]
pub fn phase(state: &State) -> Option<&Phase> {
    let up = state.disk.record.record().upgrade.as_ref();
    up.map(|up| &up.phase)
}
