//! The steps, each divided into the parts between which a power cut can come.

use upgrade::control_plane::Task;

use crate::boot;
use crate::brain::number;
use crate::cast::System;
use crate::mistakes::Mutant;
use crate::plane::{raise, tasks};
use crate::world::{Cordon, Do, End, Flaw, GrubEnv, Pc, Restored, State};

/// The number of parts of a step.
#[must_use]
pub const fn parts(what: Do) -> u8 {
    match what {
        Do::Deploy(_) | Do::Undo(_) => 6,
        Do::Drain => 4,
        Do::Clean => 3,
        Do::PreHooks | Do::Snapshot | Do::Arm(_) | Do::Disarm | Do::Bless(_) | Do::Reinstate => 2,
        Do::Fetch
        | Do::Verify
        | Do::Rehearse
        | Do::Exclude
        | Do::Kubeadm
        | Do::PostHooks(_)
        | Do::Release
        | Do::Unmark
        | Do::Settle
        | Do::Reboot(_) => 1,
        Do::Control(task) => tasks::parts(task),
        Do::Pass => 0,
    }
}

/// The next part of a step, or its end.
pub fn go_on(mutant: Option<Mutant>, state: &mut State, (what, part, etc): (Do, u8, u8)) {
    if let Do::Control(task) = what {
        return tasks::go_on(mutant, state, (task, part, etc));
    }
    let needs_api = matches!(
        what,
        Do::Rehearse
            | Do::Exclude
            | Do::Drain
            | Do::Kubeadm
            | Do::Release
            | Do::Unmark
            | Do::Settle
    );
    if part >= parts(what) {
        state.pc = Pc::Turn(Some((what, End::Done)));
        return;
    }
    let refused = what == Do::Reboot(false) && state.running.inhibited;
    // A host without a cluster has no Node to change.
    if refused || needs_api && !state.host && !state.api_answers() {
        state.pc = Pc::Turn(Some((what, End::Again)));
        return;
    }
    state.pc = Pc::Doing(what, part + 1, etc);
    match what {
        Do::Fetch => fetch(state),
        Do::Verify | Do::Rehearse | Do::PreHooks | Do::PostHooks(_) | Do::Control(_) | Do::Pass => {
        }
        Do::Deploy(letter) => deploy(state, letter, part, etc),
        Do::Exclude => exclude(state),
        Do::Drain => drain(mutant, state, part),
        Do::Snapshot => snapshot(state, part),
        Do::Arm(system) => arm(state, system, part),
        Do::Disarm => disarm(state, part),
        Do::Reboot(force) => reboot(state, force),
        Do::Kubeadm => boot::kubeadm(state),
        Do::Bless(_) => bless(state, part),
        Do::Reinstate => reinstate(state, part),
        Do::Release => release(mutant, state),
        Do::Unmark => unmark(state),
        Do::Settle => state.cluster.shielded = false,
        Do::Undo(letter) => undo(state, letter, part),
        Do::Clean => clean(state, part),
    }
}

fn fails(state: &mut State, what: Do, end: End) {
    state.pc = Pc::Turn(Some((what, end)));
}

fn fetch(state: &mut State) {
    let up = state.disk.record.record().upgrade.as_ref();
    let letter = up.and_then(|up| up.commit().map(crate::cast::letter));
    state.disk.fetched.insert(letter.unwrap_or('b'));
}

/// The pin of the old system, folder, swap, flush, clean-up, note about /etc. A deployment with
/// this exact /etc is not deployed twice. A deployment with another /etc is replaced by one with
/// another serial.
fn deploy(state: &mut State, letter: char, part: u8, etc: u8) {
    let mut entries = state.disk.menu.iter().copied();
    let there = entries.find(|one| one.letter == letter);
    match part {
        0 if !state.disk.fetched.contains(&letter) => fails(state, Do::Deploy(letter), End::Bad),
        0 => pin(state, true),
        1 => {
            let serial = there.map_or(0, |one| 1 - one.serial);
            let fits = there.is_some() && state.disk.etc_carried == etc;
            if fits {
                state.pc = Pc::Doing(Do::Deploy(letter), 4, etc);
            } else {
                state.disk.folders.insert((letter, serial));
            }
        }
        2 => {
            let serial = there.map_or(0, |one| 1 - one.serial);
            let mut menu = state.disk.menu.clone();
            menu.retain(|one| one.letter != letter);
            menu.push(System::new(letter, serial));
            swap(state, menu);
            state.disk.etc_carried = etc;
        }
        3 => state.disk.unflushed = None,
        4 => clear_folders(state),
        _ => state.disk.etc_noted = etc,
    }
}

/// The pin of the running default is in its own file, so a swap does not change it.
fn pin(state: &mut State, pinned: bool) {
    let running = state.running.system;
    let default = state.disk.menu.first_mut();
    if let Some(default) = default.filter(|default| default.same(running)) {
        default.pinned = pinned;
        state.ghost.given_up &= !pinned;
    }
}

/// What the record describes: the old system first, the one on trial last.
fn reinstate(state: &mut State, part: u8) {
    if part > 0 {
        state.disk.unflushed = None;
        return;
    }
    let up = state.disk.record.record().upgrade.as_ref();
    let both = up.and_then(|up| Some((System::of(&up.from), System::of(up.to.as_ref()?))));
    let menu = &state.disk.menu;
    let found = both.and_then(|(old, new)| {
        let old = menu.iter().find(|one| one.same(old))?;
        let new = menu.first().filter(|one| one.same(new))?;
        Some((*old, *new))
    });
    let Some((old, new)) = found else {
        fails(state, Do::Reinstate, End::Bad);
        return;
    };
    let between = menu.iter().filter(|one| !one.same(old) && !one.same(new));
    let order = std::iter::once(&old).chain(between).chain([&new]);
    let order = order.copied().collect();
    swap(state, order);
}

/// Renames the loader's link: from here on this is the menu, unless the power fails before the
/// flush.
fn swap(state: &mut State, menu: Vec<System>) {
    let former = std::mem::replace(&mut state.disk.menu, menu);
    state.disk.unflushed = Some(former);
}

/// libostree's clean-up: removes folders without an entry. The running one always stays.
fn clear_folders(state: &mut State) {
    let running = state.running.system;
    let menu = state.disk.menu.clone();
    state.disk.folders.retain(|(letter, serial)| {
        let one = System::new(*letter, *serial);
        one.same(running) || menu.iter().any(|entry| entry.same(one))
    });
}

/// An existing label keeps its owner.
fn exclude(state: &mut State) {
    let number = number(state);
    state.cluster.excluded.get_or_insert(number);
}

/// The cordon, the pods, their containers, and then the volumes of the pods that left. Somebody may
/// have deleted a pod by force, so its containers may outlast it.
fn drain(mutant: Option<Mutant>, state: &mut State, part: u8) {
    match part {
        0 => take(state),
        1 => (state.cluster.pods, state.ghost.unseen) = (false, false),
        2 if mutant == Some(Mutant::TakesForgottenPodsForEnded) => {}
        2 => state.cluster.containers = state.cluster.pods,
        _ if mutant == Some(Mutant::EndsTheDrainWithThePods) => {}
        // Pods that came back meanwhile use theirs.
        _ => state.cluster.attached = state.cluster.pods,
    }
}

fn take(state: &mut State) {
    let number = number(state);
    if !state.cluster.cordon.set {
        state.cluster.cordon = Cordon::ours(number);
        state.ghost.unseen_mark = false;
    }
    // The shields come in the same write.
    state.cluster.shielded = true;
    state.ghost.back = None;
    // The agent knows of this cordon from its own write, however late the watch is.
    state.running.link.cordon = Some(state.cluster.cordon);
}

/// A state that a trial left does not replace a snapshot that is owed.
fn snapshot(state: &mut State, part: u8) {
    if state.disk.owed {
        fails(state, Do::Snapshot, End::Again);
        return;
    }
    if part == 0 {
        (state.disk.snapshot, state.disk.restored) = (None, None);
        return;
    }
    let runs_kubelet = !state.host;
    let other = state.disk.kubelet != state.running.system.letter;
    if runs_kubelet && other && !state.ghost.by_hand {
        state.breaks("the snapshot holds what the old kubelet wrote");
    }
    state.disk.snapshot = Some(state.disk.kubelet);
    state.disk.saved_for = number(state);
    let up = state.disk.record.record().upgrade.as_ref();
    state.disk.restored = up.map(|up| Restored::Behind(up.attempt.tries));
    state.ghost.served = false;
}

/// The position is computed at the time of the write.
fn arm(state: &mut State, system: System, part: u8) {
    let at = state.disk.menu.iter().position(|one| one.same(system));
    match (part, at.and_then(|at| u8::try_from(at).ok())) {
        (_, None) => fails(state, Do::Arm(system), End::Bad),
        (0, Some(_)) => state.disk.grubenv = GrubEnv::Torn,
        (_, Some(at)) => state.disk.grubenv = GrubEnv::Set(at),
    }
}

fn disarm(state: &mut State, part: u8) {
    state.disk.grubenv = if part == 0 {
        GrubEnv::Torn
    } else {
        GrubEnv::Clear
    };
}

/// A forced reboot stops no service, so no staged system is finalized
/// (ostree-finalize-staged.service).
fn reboot(state: &mut State, force: bool) {
    state.running.staged &= !force;
    boot::go_down(state);
}

/// One rename: it is never half done, but a power cut before the flush may lose it.
fn bless(state: &mut State, part: u8) {
    if part > 0 {
        state.disk.unflushed = None;
        return;
    }
    let running = System {
        pinned: false,
        ..state.running.system
    };
    let good = state.running.well && (running.letter != 'b' || is_harmless(state.flaw));
    if good {
        state.ghost.proven.insert(running.letter);
    }
    let others = state.disk.menu.iter().filter(|one| !one.same(running));
    // The pin keeps the only fallback system.
    let others = others.enumerate().map(|(at, one)| System {
        pinned: at == 0,
        ..*one
    });
    let menu = std::iter::once(running).chain(others).collect();
    swap(state, menu);
}

/// A kernel that was unreadable once, and then readable, is good. So is an image that only the
/// policy does not let in.
const fn is_harmless(flaw: Flaw) -> bool {
    matches!(flaw, Flaw::None | Flaw::NoKernel | Flaw::OtherBranch)
}

fn release(mutant: Option<Mutant>, state: &mut State) {
    let number = number(state);
    let cordon = state.cluster.cordon;
    let any = cordon.mark.is_none() && mutant == Some(Mutant::LiftsAForeignCordon);
    let marked = cordon.mark == Some(number);
    if cordon.set && (marked || any) {
        if state.ghost.foreign_cordon {
            state.breaks("a foreign cordon is never lifted");
        }
        state.cluster.cordon.set = false;
        state.ghost.served = true;
    }
    if marked {
        state.cluster.cordon.mark = None;
        state.ghost.unseen_mark = false;
    }
    state.cluster.excluded = state.cluster.excluded.filter(|mark| *mark != number);
    state.ghost.unseen = false;
    // The cordon that comes back later is only lifted.
    if state.careful && !is_given_back(state) {
        let now = state.running.now;
        state.ghost.back.get_or_insert(now);
    }
    // Pods come back if they may.
    state.cluster.pods |= !state.cluster.cordon.set && !state.host;
    state.cluster.containers |= state.cluster.pods;
    state.cluster.attached |= state.cluster.pods;
}

/// Whether the record's upgrade has given the node back already.
fn is_given_back(state: &State) -> bool {
    let up = state.disk.record.record().upgrade.as_ref();
    up.is_some_and(|up| up.custody.is_given_back())
}

/// Removes only the mark: the same write checks that the mark is stale.
fn unmark(state: &mut State) {
    if state.cluster.cordon.is_left() {
        state.cluster.cordon.mark = None;
        state.ghost.unseen_mark = false;
    }
}

fn undo(state: &mut State, letter: char, part: u8) {
    match part {
        0 => {
            let mut menu = state.disk.menu.clone();
            menu.retain(|one| one.letter != letter);
            swap(state, menu);
        }
        1 => state.disk.unflushed = None,
        2 => clear_folders(state),
        3 => {
            state.disk.fetched.remove(&letter);
        }
        4 => pin(state, false),
        // An owed snapshot stays.
        _ if state.disk.owed => {}
        _ => (state.disk.snapshot, state.disk.restored) = (None, None),
    }
}

/// The running system, the default and the pinned ones stay.
fn clean(state: &mut State, part: u8) {
    match part {
        0 => {
            let (running, default) = (state.running.system, state.disk.menu.first().copied());
            let mut menu = state.disk.menu.clone();
            menu.retain(|one| one.same(running) || Some(*one) == default || one.pinned);
            swap(state, menu);
        }
        1 => state.disk.unflushed = None,
        _ => {
            clear_folders(state);
            // From now on the state that the new system produced belongs to the node.
            (state.disk.snapshot, state.disk.restored) = (None, None);
            state.disk.owed = false;
        }
    }
}

/// A step fails, after any part of its effects.
pub fn fail(state: &mut State, end: End) {
    match state.pc {
        // The program around kubeadm repairs first.
        Pc::Doing(Do::Control(Task::Raise), ..) => raise::fails(state),
        Pc::Doing(what, ..) => fails(state, what, end),
        Pc::Loader
        | Pc::Guard
        | Pc::GuardWrites(..)
        | Pc::GuardActs(_)
        | Pc::Units(_)
        | Pc::Turn(_)
        | Pc::Writes(..)
        | Pc::Acts(_)
        | Pc::Waits(_) => {}
    }
}
