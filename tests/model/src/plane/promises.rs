//! The promises of a control plane.

use upgrade::control_plane::Task;
use upgrade::record::Raise;
use upgrade::{Phase, Upgrade};

use super::{Folder, Lease, Live, Plane};
use crate::brain::number;
use crate::world::{Act, Do, State};

/// How old a look or the lock may be before what other members feel, in seconds.
const RECENT: u16 = 300;

/// The same of the look and the lock before a trial is armed.
const ARMING: u16 = 90;

/// Checks a decision. `former` is the upgrade before it, and `up` after it.
pub fn decided(state: &mut State, former: Option<&Upgrade>, up: &Upgrade, act: Act) {
    let Some(plane) = state.plane else {
        if up.control.is_some() || matches!(act, Act::Begin(Do::Control(_))) {
            state.breaks("a worker takes no step of a control plane");
        }
        return;
    };
    let Act::Begin(what) = act else { return };
    let was_armed = former.is_some_and(|up| matches!(up.phase, Phase::Armed { .. }));
    let is_armed = matches!(up.phase, Phase::Armed { .. });
    match what {
        Do::Drain | Do::Exclude | Do::PreHooks => takes(state, &plane, RECENT),
        Do::Control(Task::Raise) => raises(state, &plane, former, up),
        Do::Arm(system) => {
            let limit = if was_armed { RECENT } else { ARMING };
            takes(state, &plane, limit);
            is_saved(state, &plane);
            arms(state, &plane, system.letter);
        }
        Do::Reboot(_) if is_armed => takes(state, &plane, RECENT),
        Do::Bless(letter) => blesses(state, &plane, letter),
        Do::Release | Do::Control(Task::Unlock) => gives_back(state, &plane, up, what),
        Do::Fetch
        | Do::Verify
        | Do::Rehearse
        | Do::Deploy(_)
        | Do::Snapshot
        | Do::Disarm
        | Do::Reboot(_)
        | Do::Kubeadm
        | Do::Reinstate
        | Do::PostHooks(_)
        | Do::Unmark
        | Do::Settle
        | Do::Undo(_)
        | Do::Clean
        | Do::Control(_)
        | Do::Pass => {}
    }
}

/// Before this node's member is away by our doing.
fn takes(state: &mut State, plane: &Plane, limit: u16) {
    let now = state.running.now;
    let looked = plane.ghost.looked;
    let spares = looked.is_some_and(|looked| looked.spares && now <= looked.at + limit);
    if !spares {
        state.breaks("a member leaves only while the others are seen to keep the quorum");
    }
    has_the_lock(state, plane, limit);
    if plane.folder == Folder::Own {
        state.breaks("nothing begins without the shared /etc/kubernetes");
    }
}

/// A person who removes the lock takes it from an upgrade that looks again soon.
fn has_the_lock(state: &mut State, plane: &Plane, limit: u16) {
    let recent = |seen: u16| state.running.now <= seen + limit;
    let held = plane.lease == Lease::Ours(number(state)) || plane.ghost.robbed;
    if !(held && plane.ghost.locked.is_some_and(recent)) {
        state.breaks("one member at a time: only with the lock");
    }
}

fn is_saved(state: &mut State, plane: &Plane) {
    if !plane.ghost.saved {
        state.breaks("etcd is saved in this turn before anything changes");
    }
}

/// A raise that was cut goes on without another look: it may be what keeps the API server or this
/// node's part from serving.
fn raises(state: &mut State, plane: &Plane, former: Option<&Upgrade>, up: &Upgrade) {
    let control = former.and_then(|up| up.control.as_ref());
    let goes_on = control.is_some_and(|control| control.raise == Raise::Begun);
    let can_look = state.running.link.since.is_some();
    let hurt = plane.ghost.looked.is_some_and(|looked| !looked.well);
    if !goes_on || can_look && !hurt {
        takes(state, plane, RECENT);
    }
    is_saved(state, plane);
    let noted = up.control.as_ref().map(|control| &control.raise);
    if noted != Some(&Raise::Begun) {
        state.breaks("the raise is on the disk before it begins");
    }
}

fn arms(state: &mut State, plane: &Plane, letter: char) {
    if plane.ledger.is_some_and(|ledger| ledger.raising) {
        state.breaks("nothing is armed while a raise is under way");
    }
    let behind = |live: &Live| live.page().is_none_or(|page| page.letter < letter);
    if plane.live[1..].iter().any(behind) {
        state.breaks("no kubelet runs with an older API server of its node");
    }
}

fn blesses(state: &mut State, plane: &Plane, letter: char) {
    let well = plane.ghost.looked.is_some_and(|looked| looked.well);
    let behind = |live: &Live| live.page().is_none_or(|page| page.letter < letter);
    if !well {
        state.breaks("what is blessed has its part of the control plane, seen well");
    }
    if plane.live[1..].iter().any(behind) {
        state.breaks("what is blessed has all components at its version");
    }
}

/// After a turn that has touched this node's part. The node is kept also without the lock, which a
/// person may have removed.
fn gives_back(state: &mut State, plane: &Plane, up: &Upgrade, what: Do) {
    let looked_at = matches!(up.phase, Phase::Halted { .. }) || up.phase.is_end();
    let ours = what == Do::Release || plane.lease == Lease::Ours(number(state));
    let seen = plane.ghost.looked;
    if plane.ghost.touched && ours && !looked_at && !seen.is_some_and(|looked| looked.well) {
        state.breaks("a member that is not seen well after its turn keeps node and lock");
    }
}

/// Whether this node's part was seen to be hurt: then nobody gives the node back.
#[must_use]
pub fn keeps_the_node(state: &State) -> bool {
    let ghost = state.plane.map(|plane| plane.ghost);
    ghost.is_some_and(|ghost| ghost.looked.is_some_and(|looked| !looked.well))
}

/// Checks that a step is not stopped.
pub fn stopped(state: &mut State, what: Do) {
    if what == Do::Control(Task::Raise) {
        state.breaks("nobody stops a raise");
    }
}

/// Checks an upgrade that begins.
pub fn begins(state: &mut State, up: &Upgrade) {
    if state.plane.is_some() && up.control.is_none() && up.phase != Phase::Upgraded {
        state.breaks("a control plane is never taken for a worker");
    }
}

/// Whether the record has what must be on the disk before a task begins.
#[must_use]
pub fn is_noted(up: &Upgrade, task: Task) -> bool {
    let Some(control) = &up.control else {
        return false;
    };
    match task {
        Task::Lock => control.holds_the_lock() || is_busy(up),
        Task::Raise => control.raise == Raise::Begun,
        Task::Survey | Task::SaveEtcd | Task::GiveUp | Task::Yield | Task::Unlock => true,
    }
}

/// A lock of another upgrade's is asked for again from the note that it is theirs.
fn is_busy(up: &Upgrade) -> bool {
    let control = up.control.as_ref();
    control.is_some_and(|control| matches!(control.lock, upgrade::record::Lock::Busy { .. }))
}
