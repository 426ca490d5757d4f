//! The promises that must hold: boot.md's I1 to I10 and everything else that an operator relies on.
//! The checks cover what is decided, begun, written and seen.

use upgrade::{Api, Asked, Observation, OneShot, Phase, Record, Upgrade};

use crate::brain::phase;
use crate::cast::{self, OWN};
use crate::host;
use crate::look::{fails, is_well_by_itself, serves};
use crate::mutant::{SETTLE, SOAK};
use crate::plane;
use crate::world::{Act, Cordon, Do, Flaw, GrubEnv, State};

/// Trial boots of one request, by the policy's default.
const TRIALS: u8 = 2;

/// Checks a decision and its inputs.
pub fn decided(state: &mut State, seen: &Observation, next: Option<&Record>, act: Act) {
    rises(state, next);
    let before = state.disk.record.clone();
    let next = next.unwrap_or(before.record());
    let former = before.record().upgrade.as_ref();
    if seen.node.paused.is_some() && leads_to_a_trial(act) {
        state.breaks("while the Node is paused nothing new is begun");
    }
    let Some(up) = &next.upgrade else { return };
    if state.is_outside_the_hours() && is_new(act, former) {
        state.breaks("outside of the operator's hours nothing new is begun");
    }
    if matches!(act, Act::Wait(_)) && keeps_from_users(state, up) {
        state.breaks("outside of the operator's hours the node is its users'");
    }
    soaks(state, former, up);
    plane::promises::decided(state, former, up, act);
    host::decided(state, seen, act);
    match act {
        Act::Begin(Do::Arm(system)) => arms(state, seen, former, up, system.letter),
        Act::Begin(Do::Bless(letter)) => {
            // From the intent on, because a killed agent cannot know how far it came.
            state.ghost.blessing = true;
            blesses(state, seen, up, letter);
        }
        Act::Begin(Do::Undo(letter)) if letter == state.running.system.letter => {
            state.breaks("I1: what runs is not removed");
        }
        Act::Begin(Do::Reboot(_)) => {
            leaves_a_soak(state, seen, former);
            reboots(state, seen, up);
        }
        // Once per boot, even if the agent is killed before the end of the step.
        Act::Begin(Do::Reinstate) => state.ghost.reinstates = true,
        Act::Begin(_) | Act::Cancel | Act::Wait(_) => {}
    }
}

/// Checks the record of a decision before the model drops its generation: the reader of two copies
/// uses the newer one.
pub fn rises(state: &mut State, next: Option<&Record>) {
    let former = state.disk.record.record().generation;
    if next.is_some_and(|next| next.generation <= former) {
        state.breaks("the record's generation rises");
    }
}

/// Whether the agent sees a Careen mark without its cordon, may remove it, and does something else.
pub fn leaves_a_mark(seen: &Observation, act: Act) -> bool {
    let reached = matches!(seen.node.api, Api::Reached { .. });
    let free = reached && seen.machine.one_shot != OneShot::Set && seen.turn.finished.is_none();
    seen.node.stale_mark && free && act != Act::Begin(Do::Unmark)
}

/// Whether an act advances the request. An agent that was armed before only repeats what a killed
/// agent left.
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
    if letter == 'b' && state.flaw == Flaw::OtherBranch {
        state.breaks("another branch needs its own permission");
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

/// What holds whenever control is about to pass to the new system, even when a killed agent returns
/// to what it had armed.
fn leads_out_only_as_it_may(state: &mut State, seen: &Observation) {
    if state.disk.etc_carried != state.disk.etc {
        state.breaks("I9: the new system has the /etc that the old one has");
    }
    if state.cluster.pods && !is_unheard_of(state, seen) {
        state.breaks("the pods are gone before the node is armed");
    }
    if state.cluster.containers && !is_unheard_of(state, seen) {
        state.breaks("the containers of the pods have ended before the node is armed");
    }
    if state.cluster.attached && !is_unheard_of(state, seen) {
        state.breaks("the volumes are detached before the node is armed");
    }
    if !state.disk.menu.first().is_some_and(|one| one.pinned) {
        state.breaks("armed only where the running system is pinned");
    }
    let default = state.disk.menu.first().map(|one| one.letter);
    if !seen.machine.runs_default() || default == Some(OWN.letter) || state.running.staged {
        state.breaks("I1: armed only where the running system is the default, and stays it");
    }
}

/// How many seconds a restarted agent waits for the Node.
const CONNECTING: u16 = 90;

/// Whether an agent cannot know that pods may be back. Either the API server became unavailable
/// when or before the cordon was removed, and a restarted agent has waited for it; or that cordon
/// is set again.
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
    // On a control plane the server of this node counts (`plane::promises`).
    known && state.plane.is_none() && state.cluster.server < letter
}

fn blesses(state: &mut State, seen: &Observation, up: &Upgrade, letter: char) {
    let here = up.phase
        == (Phase::Healthy {
            boot: cast::boot_id(state.running.boot),
        });
    if !(here && state.running.well && state.running.system.letter == letter) {
        state.breaks("I4: what is blessed was healthy in this very boot");
    }
    let excused = state.alone && seen.node.api == Api::Away;
    let ill = if excused {
        !is_well_by_itself(&seen.turn.health)
    } else {
        fails(&seen.turn.health)
    };
    if ill {
        state.breaks("no check fails when the blessing begins");
    }
}

/// A verdict of healthy requires health without a break for the operator's time.
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

/// A healthy system in its soak is abandoned only for a failure, and not for a result that is
/// unavailable.
fn leaves_a_soak(state: &mut State, seen: &Observation, former: Option<&Upgrade>) {
    let soaks = former.is_some_and(|up| {
        up.attempt.well_since.is_some()
            && matches!(up.phase, Phase::Trial { .. })
            && up.attempt.given_up.is_none()
    });
    let until = state.running.well_since.map(|since| since + SOAK);
    let left = until.is_some_and(|until| state.running.now < until);
    // Static pods that do not serve are seen as pods.
    let serving = &seen.turn.serving;
    let less = state.plane.is_some() && serving.node.is_some() && !serves(serving);
    if soaks && left && !less && !fails(&seen.turn.health) {
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

/// Checks a step that is about to have effects, and a wait.
pub fn begun(state: &mut State, act: Act) {
    let record = state.disk.record.clone();
    let up = record.record().upgrade.as_ref();
    match act {
        Act::Begin(what) => {
            if what == Do::Release && is_unconfigured(state) {
                state.breaks("the node is not given back before its kubelet is configured");
            }
            if what == Do::Settle {
                settles(state, up);
            }
            if let Do::PreHooks | Do::PostHooks(_) = what {
                state.ghost.hooked = what == Do::PreHooks;
            }
            state.ghost.blessing &= !matches!(what, Do::Arm(_));
            let open = up.filter(|up| !up.phase.is_end());
            // A stale mark or a shield is visible on the Node, also to an agent that did not begin
            // to remove it.
            let is_seen = matches!(what, Do::Unmark | Do::Settle);
            if !is_seen && open.is_some_and(|up| !is_noted(state, up, what)) {
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

/// The shields stay while the node is away, and for a careful operator's time after that.
fn settles(state: &mut State, up: Option<&Upgrade>) {
    if up.is_some_and(|up| !up.phase.is_end()) {
        state.breaks("the shields stay while the node is away");
    }
    let settled = state.ghost.back.unwrap_or_default() + SETTLE;
    if state.careful && state.running.now < settled {
        state.breaks("the shields stay until the node has settled");
    }
}

/// Whether the record contains the begun step. An older agent does not know the step that makes the
/// old system the default again, so the record identifies that step by its boot.
fn is_noted(state: &State, up: &Upgrade, what: Do) -> bool {
    if what == Do::Reinstate {
        let boot = cast::boot_id(state.running.boot);
        return up.attempt.default.reinstated() == Some(&boot) && up.intent.is_none();
    }
    if let Do::Control(task) = what {
        return plane::promises::is_noted(up, task) && up.intent.is_none();
    }
    let noted = up.intent.as_ref().map(upgrade::Step::name);
    noted == Some(crate::look::step(state, what).name())
}

/// Whether the new, blessed system runs with the files of the old one's kubeadm. A person who picks
/// a system by hand has chosen that.
fn is_unconfigured(state: &State) -> bool {
    let up = state.disk.record.record().upgrade.as_ref();
    let blessed = up.filter(|up| up.phase == Phase::Blessed);
    let runs = state.running.system.deployment();
    let new = blessed.is_some_and(|up| up.to.as_ref().is_some_and(|to| to.same(&runs)));
    new && !state.running.picked && is_unlike(state)
}

/// Whether another system's kubeadm configured the kubelet. A host without a cluster runs none.
pub fn is_unlike(state: &State) -> bool {
    !state.host && state.disk.configured != state.running.system.letter && !state.ghost.by_hand
}

/// Whether no party ensures that users get their node back. An agent that cannot reach the server,
/// or could not recently, waits for it.
fn keeps_from_users(state: &State, up: &Upgrade) -> bool {
    let number = cast::id_number(&up.id);
    let taken = state.cluster.cordon == Cordon::ours(number)
        || state.cluster.excluded == Some(number)
        || state.ghost.hooked;
    let could = state.running.link.since.is_some() && up.retry.is_none();
    state.is_outside_the_hours()
        && !plane::promises::keeps_the_node(state)
        && !may_be_set_soon(state)
        && taken
        && could
        && up.phase.can_be_withdrawn()
}

/// Whether an agent that has just started gives a time service its time to set the clock.
const fn may_be_set_soon(state: &State) -> bool {
    state.running.unset && state.running.now < state.running.started + CONNECTING
}

/// Checks a record that is about to be written, and remembers its content.
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
        plane::promises::begins(state, up);
        state.ghost.trials = 0;
        // Another upgrade that ends in this same write has its answer since then.
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
        if cast::letter(commit) == 'b' && !may_be_blamed(state.flaw) {
            state.breaks("an image that is not at fault is never remembered as bad");
        }
        state.ghost.condemned = Some((cast::letter(commit), cast::id_number(&up.id)));
    }
}

/// Whether something that happens to an image with this flaw may be evidence against it. A good
/// image may be unlucky: its kubelet dies in a fault of the model.
const fn may_be_blamed(flaw: Flaw) -> bool {
    match flaw {
        // The disk has changed, the loader read nothing, the node's own files are in the way, or
        // the policy does not let it in.
        Flaw::Tampered | Flaw::NoKernel | Flaw::NodesOwn | Flaw::OtherBranch => false,
        Flaw::None
        | Flaw::Panics
        | Flaw::Hangs
        | Flaw::AgentDead
        | Flaw::KubeletDown
        | Flaw::UserCheck
        | Flaw::NeverReady
        | Flaw::NoNetwork
        | Flaw::MemberDown
        | Flaw::ServesLess => true,
    }
}

/// The first broken promise of a state.
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
