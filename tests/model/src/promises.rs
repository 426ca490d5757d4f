//! What must hold: boot.md's I1 to I10 and what else an operator relies on, on what is decided, begun, written and seen.

use upgrade::{Api, Asked, Observation, OneShot, Phase, Record, Upgrade};

use crate::cast;
use crate::fault::OWN;
use crate::look::fails;
use crate::machine::phase;
use crate::mutant::SOAK;
use crate::world::{Act, Cordon, Do, GrubEnv, State};

/// Trial boots of one request; the policy's default.
const TRIALS: u8 = 2;

/// Judges a decision, with what it was taken on.
pub fn decided(state: &mut State, seen: &Observation, next: Option<&Record>, act: Act) {
    rises(state, next);
    let before = state.disk.record.clone();
    let next = next.unwrap_or(before.record());
    let former = before.record().upgrade.as_ref();
    if seen.node.paused.is_some() && leads_to_a_trial(act) {
        state.breaks("while the Node is paused nothing new is begun");
    }
    let Some(up) = &next.upgrade else { return };
    if state.shut && is_new(act, former) {
        state.breaks("outside of the operator's hours nothing new is begun");
    }
    if matches!(act, Act::Wait(_)) && keeps_from_users(state, up) {
        state.breaks("outside of the operator's hours the node is its users'");
    }
    soaks(state, former, up);
    match act {
        Act::Begin(Do::Arm(system)) => arms(state, seen, former, up, system.letter),
        Act::Begin(Do::Bless(letter)) => {
            // From the intent on: an agent that is killed cannot tell how far it came.
            state.ghost.blessing = true;
            blesses(state, up, letter);
        }
        Act::Begin(Do::Undo(letter)) if letter == state.running.system.letter => {
            state.breaks("I1: what runs is not removed");
        }
        Act::Begin(Do::Reboot(_)) => {
            leaves_a_soak(state, seen, former);
            reboots(state, seen, up);
        }
        // Once a boot, also where the agent is killed before it is done.
        Act::Begin(Do::Reinstate) => state.ghost.reinstates = true,
        Act::Begin(_) | Act::Cancel | Act::Wait(_) => {}
    }
}

/// Judges a record that was decided, before its generation is forgotten: of two copies the newer is read.
pub fn rises(state: &mut State, next: Option<&Record>) {
    let former = state.disk.record.record().generation;
    if next.is_some_and(|next| next.generation <= former) {
        state.breaks("the record's generation rises");
    }
}

/// Whether the agent sees a mark of ours that marks nothing, is free to take it off, and does something else.
pub fn leaves_a_mark(seen: &Observation, act: Act) -> bool {
    let reached = matches!(seen.node.api, Api::Reached { .. });
    let free = reached && seen.machine.one_shot != OneShot::Set && seen.turn.finished.is_none();
    seen.node.stale_mark && free && act != Act::Begin(Do::Unmark)
}

/// Whether an act brings the request on. Who was armed before only arms again what a killed agent left.
fn is_new(act: Act, former: Option<&Upgrade>) -> bool {
    let armed = former.is_some_and(|former| matches!(former.phase, Phase::Armed { .. }));
    match act {
        Act::Begin(Do::Arm(_)) => !armed,
        Act::Begin(_) | Act::Cancel | Act::Wait(_) => leads_to_a_trial(act),
    }
}

fn arms(
    state: &mut State,
    seen: &Observation,
    former: Option<&Upgrade>,
    up: &Upgrade,
    letter: char,
) {
    let first = former.is_none_or(|former| !matches!(former.phase, Phase::Armed { .. }));
    let tries = former.map_or(0, |former| former.attempt.tries);
    if first && up.attempt.tries <= tries {
        state.breaks("I3: the attempt is counted before control passes");
    }
    if first && seen.node.paused.is_some() {
        state.breaks("while the Node is paused nothing is armed");
    }
    if first && is_withdrawn(seen, up) {
        state.breaks("a withdrawn request arms nothing");
    }
    if state.careful && !(state.ghost.hooked && state.cluster.excluded.is_some()) {
        state.breaks("hooks and load balancers come before the arming");
    }
    if state.disk.snapshot.is_none() {
        state.breaks("the kubelet's state is saved before the node is armed");
    }
    if state.ghost.served {
        state.breaks("what is saved is no older than what the old system wrote last");
    }
    leads_out_only_as_it_may(state, seen);
    if first && is_newer_than_server(state, seen, letter) {
        state.breaks("I8: the kubelet is never newer than the API server");
    }
    let number = up.request.id.as_ref().map(|_| cast::id_number(&up.id));
    if let Some((bad, id)) = state.ghost.condemned
        && bad == letter
        && number.is_none_or(|number| number == id)
    {
        state.breaks("a bad image is tried again only when somebody asks again");
    }
}

/// What holds whenever control is about to pass to the new system, also where a killed agent comes back to what it had armed.
fn leads_out_only_as_it_may(state: &mut State, seen: &Observation) {
    if state.disk.etc_carried != state.disk.etc {
        state.breaks("I9: the new system has the /etc that the old one has");
    }
    if state.cluster.pods && !is_unheard_of(state, seen) {
        state.breaks("the pods are gone before the node is armed");
    }
    if !state.disk.menu.first().is_some_and(|one| one.pinned) {
        state.breaks("armed only where the running system is pinned");
    }
    let default = state.disk.menu.first().map(|one| one.letter);
    if !seen.machine.runs_default() || default == Some(OWN.letter) || state.running.staged {
        state.breaks("I1: armed only where the running system is the default, and stays it");
    }
}

/// For how many seconds an agent that was started anew waits to hear of the Node.
const CONNECTING: u16 = 90;

/// Whether an agent cannot know that pods may be back: the API server went away in the moment in which the cordon was taken off, or before, and who
/// was started anew has waited for it; or that cordon is set again.
fn is_unheard_of(state: &State, seen: &Observation) -> bool {
    let heard = seen.node.request != Asked::Unknown;
    let waited = state.running.now >= state.running.started + CONNECTING;
    let in_vain = seen.node.api == Api::Away && (heard || waited);
    state.ghost.unseen && (in_vain || state.cluster.cordon.set)
}

/// Steps before a trial is armed.
const fn leads_to_a_trial(act: Act) -> bool {
    matches!(
        act,
        Act::Begin(
            Do::Fetch
                | Do::Verify
                | Do::Rehearse
                | Do::Deploy(_)
                | Do::PreHooks
                | Do::Exclude
                | Do::Drain
                | Do::Snapshot
        )
    )
}

fn is_withdrawn(seen: &Observation, up: &Upgrade) -> bool {
    match &seen.node.request {
        Asked::Unknown => false,
        Asked::Nothing => true,
        Asked::This(raw) => *raw != up.request,
    }
}

fn is_newer_than_server(state: &State, seen: &Observation, letter: char) -> bool {
    let known = matches!(
        seen.node.api,
        Api::Reached {
            version: Some(_),
            ..
        }
    );
    known && state.cluster.server < letter
}

fn blesses(state: &mut State, up: &Upgrade, letter: char) {
    let here = up.phase
        == (Phase::Healthy {
            boot: cast::boot_id(state.running.boot),
        });
    if !(here && state.running.well && state.running.system.letter == letter) {
        state.breaks("I4: what is blessed was healthy in this very boot");
    }
}

/// A verdict that it is healthy comes when it was so for the operator's time, without a break.
fn soaks(state: &mut State, former: Option<&Upgrade>, up: &Upgrade) {
    let healthy = |up: &Upgrade| matches!(up.phase, Phase::Healthy { .. });
    if !state.careful || !healthy(up) || former.is_some_and(healthy) {
        return;
    }
    let until = state.running.well_since.map(|since| since + SOAK);
    if until.is_none_or(|until| state.running.now < until) {
        state.breaks("healthy is what was so for the whole soak");
    }
}

/// A system that was well and soaks is left for what has failed alone, and not for what nobody could look at.
fn leaves_a_soak(state: &mut State, seen: &Observation, former: Option<&Upgrade>) {
    let soaks = former.is_some_and(|up| {
        up.attempt.well_since.is_some()
            && matches!(up.phase, Phase::Trial { .. })
            && up.attempt.given_up.is_none()
    });
    let until = state.running.well_since.map(|since| since + SOAK);
    let left = until.is_some_and(|until| state.running.now < until);
    if soaks && left && !fails(&seen.turn.health) {
        state.breaks("a soak is ended by what fails alone");
    }
}

fn reboots(state: &mut State, seen: &Observation, up: &Upgrade) {
    let boot = cast::boot_id(state.running.boot);
    let armed = up.phase == Phase::Armed { boot };
    if armed {
        leads_out_only_as_it_may(state, seen);
    }
    let proven = state.ghost.proven.contains(&state.running.system.letter);
    let default = state.disk.menu.first();
    let leads_back = default.is_some_and(|one| one.same(state.running.system));
    let tried = state.running.trial && !proven && !armed;
    if tried && leads_back && !state.ghost.reinstates {
        state.breaks("a trial that somebody made the default is left by way of the old default");
    }
    if proven && !armed && !state.running.trial && !state.running.picked {
        state.breaks("the old system reboots only when it is armed");
    }
}

/// Judges a step that is about to have effects, and a wait.
pub fn begun(state: &mut State, act: Act) {
    let record = state.disk.record.clone();
    let up = record.record().upgrade.as_ref();
    match act {
        Act::Begin(what) => {
            if what == Do::Release && is_unconfigured(state) {
                state.breaks("the node is not given back before its kubelet is configured");
            }
            if let Do::PreHooks | Do::PostHooks(_) = what {
                state.ghost.hooked = what == Do::PreHooks;
            }
            state.ghost.blessing &= !matches!(what, Do::Arm(_));
            let open = up.filter(|up| !up.phase.is_end());
            // A mark that is left is seen on the Node, also by an agent that did not begin to remove it.
            if what != Do::Unmark && open.is_some_and(|up| !is_noted(state, up, what)) {
                state.breaks("the intent is on the disk before the effect");
            }
        }
        Act::Wait(None) => {
            let armed = matches!(phase(state), Some(Phase::Armed { .. }));
            if matches!(state.disk.grubenv, GrubEnv::Set(_)) && !armed {
                state.breaks("nobody waits with a one-shot set");
            }
        }
        Act::Wait(Some(_)) | Act::Cancel => {}
    }
}

/// Whether the record says what is begun. An older agent knows no step that makes the old system the default again: that is written by its boot.
fn is_noted(state: &State, up: &Upgrade, what: Do) -> bool {
    if what == Do::Reinstate {
        let boot = cast::boot_id(state.running.boot);
        return up.attempt.default.reinstated() == Some(&boot) && up.intent.is_none();
    }
    let noted = up.intent.as_ref().map(upgrade::Step::name);
    noted == Some(crate::look::step(state, what).name())
}

/// Whether the new system, blessed, runs on what the old one's kubeadm has written. Whoever picks a system by hand has chosen that.
fn is_unconfigured(state: &State) -> bool {
    let up = state.disk.record.record().upgrade.as_ref();
    let blessed = up.filter(|up| up.phase == Phase::Blessed);
    let runs = state.running.system.deployment();
    let new = blessed.is_some_and(|up| up.to.as_ref().is_some_and(|to| to.same(&runs)));
    new && !state.running.picked && is_unlike(state)
}

/// Whether the kubelet was configured by another system's kubeadm.
pub fn is_unlike(state: &State) -> bool {
    state.disk.configured != state.running.system.letter && !state.ghost.by_hand
}

/// Whether nobody sees to it that users get their node back. Who cannot tell the server, or could not just now, waits for that.
fn keeps_from_users(state: &State, up: &Upgrade) -> bool {
    let number = cast::id_number(&up.id);
    let taken = state.cluster.cordon == Cordon::ours(number)
        || state.cluster.excluded == Some(number)
        || state.ghost.hooked;
    let could = state.running.link.since.is_some() && up.retry.is_none();
    state.shut && taken && could && up.phase.can_be_withdrawn()
}

/// Judges a record that is about to be written, and takes note of what it says.
pub fn stored(state: &mut State, next: &Record) {
    let before = state.disk.record.clone();
    let former = before.record().upgrade.as_ref();
    let Some(up) = &next.upgrade else { return };
    let begins = former.is_none_or(|former| former.id != up.id || former.phase.is_end())
        && (!up.phase.is_end() || former.is_none_or(|former| former.id != up.id));
    if begins {
        if state.disk.owed && !up.phase.is_end() {
            state.breaks("no request is taken while the old system is owed its kubelet's state");
        }
        state.ghost.trials = 0;
        // Another upgrade that ends in this very write was answered since.
        let last = former.is_none_or(|former| former.phase.is_end());
        if last
            && before.record().spent.as_ref() == Some(&up.request)
            && state.running.link.asked != Some(None)
        {
            state.breaks("a request that is answered is not taken again");
        }
    }
    if up.phase == Phase::Blessed && !state.ghost.blessing {
        state.breaks("what somebody else made the default is not called blessed");
    }
    let failed =
        |up: &Upgrade| matches!(&up.phase, Phase::Failed { reason } if reason.blames_image());
    if failed(up)
        && !former.is_some_and(failed)
        && let Some(commit) = up.commit()
    {
        state.ghost.condemned = Some((cast::letter(commit), cast::id_number(&up.id)));
    }
}

/// The first promise that does not hold of a state.
#[must_use]
pub fn broken(state: &State) -> Option<&'static str> {
    if state.ghost.broken.is_some() {
        return state.ghost.broken;
    }
    let disk = &state.disk;
    let default = disk.menu.first().copied();
    let boots = default.is_some_and(|one| {
        let vouched = state.ghost.imposed == Some(one.letter);
        (vouched || state.ghost.proven.contains(&one.letter))
            && disk.folders.contains(&(one.letter, one.serial))
    });
    let old = disk.record.record().upgrade.as_ref();
    let old = old.filter(|up| !up.phase.is_end()).map(|up| &up.from);
    let old_is_there = old.is_none_or(|from| {
        let there = |one: &crate::cast::System| one.deployment().same(from);
        disk.menu
            .iter()
            .any(|one| there(one) && disk.folders.contains(&(one.letter, one.serial)))
    });
    let bounded = disk.menu.len() <= 4
        && disk.folders.len() <= 6
        && disk.record.record().bad.len() <= 2
        && disk.fetched.len() <= 2;
    match () {
        () if !boots => Some("I1: some proven system boots"),
        () if state.ghost.trials > TRIALS => Some("I3: at most so many trials of one request"),
        () if disk.owed && disk.snapshot.is_none() => {
            Some("what the old system is owed is kept until it has it back")
        }
        () if !old_is_there => Some("I5: the old system is there until the end"),
        () if !bounded => Some("I10: nothing grows without bound"),
        () => None,
    }
}
