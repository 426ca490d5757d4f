//! The tasks of careen-control, each in parts, as the program that ships performs them.

use upgrade::control_plane::Task;

use super::{COMPONENTS, ETCD, Lease, Live, Plane, pods, raise};
use crate::brain::number;
use crate::mistakes::Mutant;
use crate::world::{Answer, Do, End, Pc, State};

/// The number of parts of a task.
#[must_use]
pub const fn parts(task: Task) -> u8 {
    match task {
        Task::Raise => raise::PARTS,
        Task::SaveEtcd => 2,
        Task::Survey | Task::Lock | Task::GiveUp | Task::Yield | Task::Unlock => 1,
    }
}

/// The next part of a task, or its end.
pub fn go_on(mutant: Option<Mutant>, state: &mut State, (task, part, etc): (Task, u8, u8)) {
    if task == Task::Raise && part != raise::PARTS {
        return raise::go_on(mutant, state, part, etc);
    }
    if part >= parts(task) {
        if task == Task::Lock && is_free(state) {
            // The lock is read back after the write, and taken again.
            perform(mutant, state, task, 0);
        }
        let busy = task == Task::Lock && !has_the_lock(state);
        let end = if busy { End::Busy } else { End::Done };
        state.pc = Pc::Turn(Some((Do::Control(task), end)));
        return;
    }
    state.pc = Pc::Doing(Do::Control(task), part + 1, etc);
    if !perform(mutant, state, task, part) {
        state.pc = Pc::Turn(Some((Do::Control(task), End::Again)));
    }
}

/// Whether the part was possible.
fn perform(mutant: Option<Mutant>, state: &mut State, task: Task, part: u8) -> bool {
    let (api, number) = (state.api_answers(), number(state));
    let free = is_free(state);
    let Some(plane) = &mut state.plane else {
        return false;
    };
    match task {
        Task::Survey | Task::Yield | Task::Raise => true,
        Task::Lock => {
            if api && free {
                plane.lease = Lease::Ours(number);
            }
            plane.ghost.robbed &= !api;
            plane.ghost.released &= !api;
            api
        }
        Task::Unlock => {
            if api && plane.lease == Lease::Ours(number) {
                plane.lease = Lease::Free;
                let well = plane.ghost.looked.is_some_and(|looked| looked.well);
                plane.ghost.released = well || !plane.ghost.touched;
                // Another turn may be between this one and the next.
                (plane.ghost.saved, plane.ghost.touched) = (false, false);
            }
            api
        }
        Task::SaveEtcd => save(plane, part),
        Task::GiveUp => give_up(mutant, state),
    }
}

/// The file has its name only when it is whole.
fn save(plane: &mut Plane, part: u8) -> bool {
    let can = plane.serves(ETCD) && plane.has_quorum();
    plane.ghost.saved |= can && part == 1;
    can
}

fn give_up(mutant: Option<Mutant>, state: &mut State) -> bool {
    let number = number(state);
    let Some(mut plane) = state.plane else {
        return false;
    };
    let own = plane.ledger.filter(|ledger| ledger.number == number);
    if own.is_none() {
        return true;
    }
    let whole = pods::repair(mutant, &mut plane);
    if whole {
        raise::close(&mut plane);
        for component in 0..COMPONENTS {
            if let Live::Whole(page) = plane.live[component] {
                plane.ghost.floor[component] = page.letter;
            }
        }
    }
    state.plane = Some(plane);
    pods::sync(state);
    whole
}

fn has_the_lock(state: &State) -> bool {
    let number = number(state);
    let lease = state.plane.map(|plane| plane.lease);
    lease == Some(Lease::Ours(number))
}

/// Whether this upgrade may take the lock: an upgrade of this node is over when its Node names
/// another one, or says that it has ended.
fn is_free(state: &State) -> bool {
    match state.plane.map(|plane| plane.lease) {
        Some(Lease::Free) => true,
        Some(Lease::Ours(holder)) => holder != number(state) && is_over(state, holder),
        Some(Lease::Others) | None => false,
    }
}

/// Whether the Node says that this upgrade is over.
#[must_use]
pub fn is_over(state: &State, holder: u8) -> bool {
    let Some(told) = state.cluster.told else {
        return false;
    };
    let ended = match told.answer {
        Answer::InProgress => false,
        Answer::Upgraded => true,
        // The status of an upgrade that halted is `Halted`.
        Answer::Failed(_) => !crate::brain::phase(state)
            .is_some_and(|phase| matches!(phase, upgrade::Phase::Halted { .. })),
    };
    told.id.is_some_and(|id| id != holder || ended)
}
