//! From power-on to the agent's first observation: GRUB, kernel, the stage's guard, the units
//! before the kubelet.

use host::snapshot;
use upgrade::{Home, Phase, Upgrade};

use crate::brain::{act_of, number, phase};
use crate::cast::{OWN, System};
use crate::kept::Kept;
use crate::look::look;
use crate::mistakes::Mutant;
use crate::mutant;
use crate::plane::{self, COMPONENTS, pods};
use crate::promises;
use crate::world::{Act, Do, Flaw, GrubEnv, Link, Pc, Restored, Running, State};

/// Seconds from the kernel's start to the agent's.
const TO_THE_AGENT: u16 = 30;

/// An orderly shutdown: everything written is on the disk.
pub fn go_down(state: &mut State) {
    state.disk.unflushed = None;
    plane::with(&mut state.plane, |plane| plane.unflushed = None);
    if state.running.staged {
        own_default(state);
    }
    fall(state);
}

/// Makes the person's system the default from now on, once.
pub fn own_default(state: &mut State) {
    state.disk.menu.retain(|one| !one.same(OWN));
    state.disk.menu.insert(0, OWN);
    state.disk.unflushed = None;
    state.disk.folders.insert((OWN.letter, OWN.serial));
    state.ghost.proven.insert(OWN.letter);
}

/// All running programs are gone.
pub fn fall(state: &mut State) {
    state.running.link = Link::NEW;
    state.running.now = 0;
    state.running.reached = false;
    state.running.well = false;
    state.running.well_since = None;
    state.running.sick = false;
    state.running.inhibited = false;
    state.running.dead = false;
    state.running.staged = false;
    state.running.unset = false;
    state.ghost.back = None;
    plane::with(&mut state.plane, |plane| {
        plane.pods = [None; COMPONENTS];
        (plane.ghost.looked, plane.ghost.locked) = (None, None);
    });
    state.pc = Pc::Loader;
}

/// GRUB reads the one-shot and clears it before it loads anything. It boots the default without a
/// one-shot, with an invalid one, with a torn block, or when it cannot read the kernel.
pub fn load(state: &mut State) {
    let menu = state.disk.unreplayed.take();
    let menu = menu.unwrap_or_else(|| state.disk.menu.clone());
    let chosen = match state.disk.grubenv {
        GrubEnv::Set(at) => menu.get(usize::from(at)).copied(),
        GrubEnv::Clear | GrubEnv::Torn => None,
    };
    clear(state);
    let readable = |one: &System| !(one.letter == 'b' && state.flaw == Flaw::NoKernel);
    let Some(default) = menu.first().copied() else {
        state.breaks("I1: some proven system boots");
        return;
    };
    let trial = chosen.filter(readable);
    enter(state, trial.unwrap_or(default), trial.is_some(), false);
}

/// The loader clears its one-shot. It requests no flush, so a later power cut may still lose the
/// clearing.
pub fn clear(state: &mut State) {
    state.disk.uncleared = None;
    if let (GrubEnv::Set(at), false) = (state.disk.grubenv, state.stuck) {
        state.disk.grubenv = GrubEnv::Clear;
        state.disk.uncleared = Some(at);
    }
}

/// The kernel of this system starts.
pub fn enter(state: &mut State, system: System, trial: bool, picked: bool) {
    state.running = Running {
        boot: state.running.boot.saturating_add(1),
        now: 10,
        started: 0,
        system,
        trial,
        picked,
        kubeadm: !trial || state.disk.configured == system.letter,
        sick: false,
        inhibited: false,
        dead: false,
        staged: false,
        unset: false,
        reached: false,
        well: false,
        well_since: None,
        link: Link::NEW,
    };
    state.ghost.reinstates = false;
    plane::with(&mut state.plane, |plane| plane.ghost.touched |= trial);
    // A person who made an unproven system the default boots it by hand.
    state.ghost.by_hand |= !trial && state.ghost.imposed == Some(system.letter);
    let there = state.disk.folders.contains(&(system.letter, system.serial));
    if !there && !trial && !picked {
        state.breaks("I1: some proven system boots");
    }
    // prepare-root finds no folder, or the kernel dies: the trial's kernel arguments cause a
    // reboot.
    state.pc = if !there || state.suffers(Flaw::Panics) {
        Pc::Loader
    } else if trial {
        Pc::Guard
    } else {
        Pc::Units(0)
    };
}

/// `careen-stage guard` observes and decides.
pub fn guard(mutant: Option<Mutant>, state: &mut State) {
    let seen = look(state, Home::Stage, None, None);
    let (record, act) = mutant::decide(mutant, state, &seen);
    promises::rises(state, record.as_ref());
    let act = act_of(&act);
    state.pc = match record {
        Some(record) => Pc::GuardWrites(Kept::new(record), act),
        None => Pc::GuardActs(act),
    };
}

/// The guard performs its decision. Every decision except to continue the boot or to disarm is a
/// reboot.
pub fn guard_acts(state: &mut State, act: Act) {
    match act {
        Act::Begin(Do::Pass) => pass(state),
        Act::Begin(Do::Disarm) => {
            state.disk.grubenv = GrubEnv::Clear;
            state.pc = Pc::Guard;
        }
        Act::Begin(_) | Act::Cancel | Act::Wait(_) => fall(state),
    }
}

fn pass(state: &mut State) {
    if state.suffers(Flaw::Tampered) {
        state.breaks("the guard lets no damaged system through");
    }
    state.ghost.trials = state.ghost.trials.saturating_add(1);
    if state.suffers(Flaw::Hangs) {
        // The deadman of the initramfs.
        fall(state);
    } else {
        state.pc = Pc::Units(0);
    }
}

/// `careen-restore`, then kubeadm and the kubelet.
pub fn units(mutant: Option<Mutant>, state: &mut State, part: u8) {
    match part {
        0 => restore(mutant, state),
        1 => kubelet(mutant, state),
        _ => {
            state.running.now = TO_THE_AGENT;
            state.pc = Pc::Turn(None);
            return;
        }
    }
    state.pc = Pc::Units(part + 1);
}

/// Whether `careen-restore` is about to restore the kubelet's state: once after each time that the
/// target may have run, and at each boot while a restore is owed.
#[must_use]
pub fn restores(state: &State) -> bool {
    let up = state.disk.record.record().upgrade.as_ref();
    let Some(up) = up.filter(|_| state.disk.snapshot.is_some()) else {
        return false;
    };
    let booted = state.running.system.deployment();
    let is_due = is_own(state) && snapshot::is_wanted(up, &booted) && !is_over(up, state);
    !is_target(up, state) && (is_due || state.disk.owed)
}

/// Whether the snapshot belongs to the record's upgrade. The snapshot of another upgrade is
/// restored only if it is owed.
fn is_own(state: &State) -> bool {
    state.disk.saved_for == number(state)
}

/// `snapshot::is_over`.
fn is_over(up: &Upgrade, state: &State) -> bool {
    match state.disk.restored {
        Some(Restored::Behind(tries)) => tries == up.attempt.tries,
        Some(Restored::In(boot)) => up.is_past_its_arming() || boot == state.running.boot,
        None => false,
    }
}

/// The agent's note, before it decides anything: a restore that is due and did not happen is owed
/// (`snapshot::is_outstanding`).
pub fn note_what_is_not_back(state: &mut State) {
    state.disk.owed |= !matches!(phase(state), Some(Phase::Armed { .. })) && restores(state);
}

fn is_target(up: &Upgrade, state: &State) -> bool {
    let booted = state.running.system.deployment();
    up.to.as_ref().is_some_and(|to| to.same(&booted))
}

/// The unit does not run on a trial. A trial counts when it is armed.
fn restore(mutant: Option<Mutant>, state: &mut State) {
    let Some(up) = state.disk.record.record().upgrade.clone() else {
        return;
    };
    let failed = matches!(up.phase, Phase::Failed { .. });
    let own = state.disk.snapshot.filter(|_| is_own(state));
    if is_target(&up, state) && !state.running.trial && own.is_some() {
        state.disk.restored = None;
        // Only that note causes the restore after the end of its upgrade.
        state.disk.owed &= failed;
    }
    if let (true, Some(saved)) = (restores(state), state.disk.snapshot) {
        (state.disk.kubelet, state.disk.owed) = (saved, false);
        // The snapshot includes the kubelet's configuration.
        state.disk.configured = saved;
        state.ghost.served = true;
        state.disk.restored = noted(mutant, &up, state);
        // No other code removes it later.
        state.disk.snapshot = own.filter(|_| !failed);
    }
}

/// An armed system may still be tried. In that case the state is restored once more.
fn noted(mutant: Option<Mutant>, up: &Upgrade, state: &State) -> Option<Restored> {
    let behind = Restored::Behind(up.attempt.tries);
    match (&up.phase, mutant) {
        (Phase::Failed { .. }, _) => None,
        (Phase::Armed { .. }, Some(Mutant::NotesNothingPutBackWhileArmed)) => None,
        (Phase::Armed { .. }, Some(Mutant::TakesItForBackBehindWhatIsArmed)) => Some(behind),
        (Phase::Armed { .. }, _) => Some(Restored::In(state.running.boot)),
        _ => Some(behind),
    }
}

/// Whether the unit before the kubelet is about to run `kubeadm upgrade node`.
#[must_use]
pub fn runs_kubeadm(state: &State) -> bool {
    state.running.trial && !state.running.kubeadm && state.api_answers() && !state.host
}

/// That unit has failed, and the kubelet still starts.
pub fn kubelet_without_kubeadm(state: &mut State) {
    start_kubelet(None, state);
    state.pc = Pc::Units(2);
}

fn kubelet(mutant: Option<Mutant>, state: &mut State) {
    start_kubelet(mutant, state);
    if runs_kubeadm(state) {
        kubeadm(state);
    }
}

/// The kubelet restarts with what kubeadm wrote.
pub fn kubeadm(state: &mut State) {
    state.running.kubeadm = true;
    let letter = state.running.system.letter;
    (state.disk.kubelet, state.disk.configured) = (letter, letter);
}

/// A newer kubelet rewrites its state even when kubeadm, which needs the API server, did not run.
/// An older kubelet cannot read the state of a newer one, and does not start without a restore. A
/// person who picks an older system by hand when no snapshot is left has chosen that. A host without
/// a cluster has no kubelet to start.
fn start_kubelet(mutant: Option<Mutant>, state: &mut State) {
    if state.host {
        return;
    }
    pods::boot(mutant, state);
    let letter = state.running.system.letter;
    if state.disk.kubelet > letter && (state.disk.owed || restores(state)) {
        state.running.sick = true;
    } else if state.disk.kubelet > letter && !state.running.picked && !state.ghost.by_hand {
        state.breaks("the kubelet can read its state");
    }
    state.disk.kubelet = state.disk.kubelet.max(letter);
}
