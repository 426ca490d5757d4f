//! Faults between any two writes, and between any write and its effect. Each uses up one of
//! [`Left`].

use upgrade::Phase;

use crate::brain::{number, phase};
use crate::cast::{ASKS, Ask, OWN, System};
use crate::plane::fault::{self as plane, Strike, Torn};
use crate::plane::{raise, with};
use crate::world::{Act, Cordon, Do, End, Flaw, Left, Pc, State};
use crate::{boot, machine, steps};

/// The unflushed data that a power cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// Nothing.
    None,
    /// The swap: loader and system both find the earlier entries.
    Swap,
    /// The loader finds the earlier entries, because it replays no journal. The system finds the
    /// new ones.
    Replay,
    /// The loader's clearing of its one-shot.
    Clearing,
    /// A manifest of a static pod.
    Manifest(Torn),
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A power loss.
    Cut(Loss),
    /// The agent is killed together with its current step.
    Kill,
    /// The agent is killed in a trial, and does not restart in this boot.
    Dies,
    /// The current step fails, after any part of its effects.
    Fails(End),
    /// The restore of the kubelet's state fails: the disk is full or not writable.
    PutBackFails,
    /// The restore does not run at all: its unit is masked, or waits for a broken file system.
    RestoreStaysOut,
    /// The unit that runs `kubeadm upgrade node` before the kubelet fails, although the API server
    /// answers: kubeadm has a time limit.
    KubeadmFails,
    /// The API server becomes unavailable, or comes back.
    Server(bool),
    /// The API server loses an answer that it had accepted: its store is restored from a backup, or
    /// a person removes the answer.
    LosesTheAnswer,
    /// The API server is downgraded to an older version.
    OlderServer,
    /// The requester writes another request, or withdraws the request.
    Asks(Option<Ask>),
    /// The requester pauses the Node.
    Pauses,
    /// A person cordons the node.
    Cordons,
    /// A person uncordons the node, no matter which party cordoned it, and pods come.
    Uncordons,
    /// The cordon of a finished upgrade, or of one that has released the node, comes back: the API
    /// server executes that write late, or is restored to a state before the release.
    CordonComesBack,
    /// The load balancer label comes back in the same way.
    ExclusionComesBack,
    /// A person chooses this entry from the menu.
    Picks(u8),
    /// A person deploys a system of their own and makes it the default.
    OwnDefault,
    /// A person stages a system of their own, which the next orderly shutdown makes the default.
    Stages,
    /// A person makes the system on trial the default.
    Imposes,
    /// A person removes the pin of the default.
    Unpins,
    /// A foreign clean-up removes all systems that neither run nor are pinned.
    CleansUp,
    /// A person changes the running system's /etc.
    Etc,
    /// The kubelet dies permanently, until the next boot.
    Sickens,
    /// A program holds an inhibitor until the next boot, which blocks a polite reboot.
    Inhibits,
    /// The operator's hours end.
    Shuts,
    /// The hours begin again immediately: a person corrects the clock, or widens the hours.
    Opens,
    /// No time service has set the clock: the agent learns that it never knew the time in this
    /// boot.
    UnsetsTheClock,
    /// Something happens to the control plane.
    Plane(Strike),
    /// The current action takes until this second of the boot.
    Late(u16),
}

/// Just after the moments that matter in a boot: the API server timeout, the trial's deadline, its
/// hold, the end.
const LATE: [u16; 4] = [95, 605, 1505, 2165];

/// Whether the upgrade under way took the node and released it again, because of the operator's
/// hours.
fn is_given_back(state: &State) -> bool {
    let up = state.disk.record.record().upgrade.as_ref();
    up.is_some_and(|up| up.custody.is_given_back() && up.phase.can_be_withdrawn())
}

/// All faults that are possible in a state.
pub fn possible(state: &State, out: &mut Vec<Fault>) {
    let Left { all, cuts, people } = state.left;
    if all == 0 {
        return;
    }
    if cuts > 0 {
        out.push(Fault::Cut(Loss::None));
        if state.disk.unflushed.is_some() {
            out.extend([Fault::Cut(Loss::Swap), Fault::Cut(Loss::Replay)]);
        }
        if state.disk.uncleared.is_some() {
            out.push(Fault::Cut(Loss::Clearing));
        }
        let torn = state.plane.iter().flat_map(plane::cuts).copied();
        out.extend(torn.map(Loss::Manifest).map(Fault::Cut));
    }
    if state.suffers(Flaw::AgentDead) || state.running.dead {
        return;
    }
    if state.pc == Pc::Units(0) && boot::restores(state) {
        out.extend([Fault::PutBackFails, Fault::RestoreStaysOut]);
    }
    if state.pc == Pc::Units(1) && boot::runs_kubeadm(state) {
        out.push(Fault::KubeadmFails);
    }
    agent(state, out);
    if has_boundary(state) {
        world(state, out);
        let strikes = plane::possible(state, people > 0);
        out.extend(strikes.into_iter().map(Fault::Plane));
        if people > 0 {
            persons(state, out);
        }
    }
    if people > 0 && state.pc == Pc::Loader {
        let entries = u8::try_from(state.disk.menu.len()).unwrap_or(u8::MAX);
        out.extend((0..entries).map(Fault::Picks));
    }
}

/// Whether the order of foreign actions matters to any party at this point.
const fn has_boundary(state: &State) -> bool {
    matches!(
        state.pc,
        Pc::Turn(_) | Pc::Acts(_) | Pc::Doing(..) | Pc::Waits(_)
    )
}

/// Whether this is a trial of a system that is not the default. The deadman ends it, even without
/// the agent.
fn must_end(state: &State) -> bool {
    let default = state.disk.menu.first();
    let serves = default.is_some_and(|one| one.same(state.running.system));
    let open = phase(state).is_some_and(|phase| !phase.is_proven());
    state.running.trial && !serves && open
}

fn agent(state: &State, out: &mut Vec<Fault>) {
    if must_end(state) && (has_boundary(state) || matches!(state.pc, Pc::Writes(..))) {
        out.push(Fault::Dies);
    }
    match state.pc {
        // kubeadm has ended, and the program around it repairs at once.
        Pc::Doing(_, raise::REPAIRS.., _) => {}
        Pc::Doing(what, ..) => {
            out.push(Fault::Kill);
            out.push(Fault::Fails(End::Again));
            if matches!(
                what,
                Do::Fetch | Do::Verify | Do::Deploy(_) | Do::Drain | Do::Bless(_) | Do::Undo(_)
            ) {
                out.push(Fault::Fails(End::Bad));
            }
        }
        Pc::Turn(_) | Pc::Writes(..) | Pc::Acts(_) | Pc::Waits(_) => out.push(Fault::Kill),
        Pc::Loader | Pc::Guard | Pc::GuardWrites(..) | Pc::GuardActs(_) | Pc::Units(_) => {}
    }
}

fn world(state: &State, out: &mut Vec<Fault>) {
    out.push(Fault::Server(!state.cluster.up));
    if state.cluster.told.is_some() {
        out.push(Fault::LosesTheAnswer);
    }
    let over = phase(state).is_some_and(Phase::is_end) || is_given_back(state);
    if over && state.cluster.cordon == Cordon::NONE {
        out.push(Fault::CordonComesBack);
    }
    if over && state.careful && state.cluster.excluded.is_none() {
        out.push(Fault::ExclusionComesBack);
    }
    if state.disk.etc < 2 {
        out.push(Fault::Etc);
    }
    if state.running.trial && !state.running.sick {
        out.push(Fault::Sickens);
    }
    if !state.running.inhibited {
        out.push(Fault::Inhibits);
    }
    if state.careful {
        out.push(if state.shut {
            Fault::Opens
        } else {
            Fault::Shuts
        });
        // What is armed ends without a clock.
        let begins = phase(state).is_none_or(Phase::can_be_withdrawn);
        if begins && !state.running.unset {
            out.push(Fault::UnsetsTheClock);
        }
    }
    let late = LATE.into_iter().filter(|at| *at > state.running.now);
    out.extend(late.map(Fault::Late));
}

fn persons(state: &State, out: &mut Vec<Fault>) {
    let asks = std::iter::once(None).chain(ASKS.map(Some));
    let others = asks.filter(|ask| *ask != state.cluster.ask);
    out.extend(others.map(Fault::Asks));
    if !state.cluster.paused {
        out.push(Fault::Pauses);
    }
    match state.cluster.cordon.set {
        false => out.push(Fault::Cordons),
        true if state.cluster.up => out.push(Fault::Uncordons),
        true => {}
    }
    if state.cluster.server != 'a' && state.plane.is_none() {
        out.push(Fault::OlderServer);
    }
    let blesses = matches!(
        state.pc,
        Pc::Acts(Act::Begin(Do::Bless(_))) | Pc::Doing(Do::Bless(_), ..)
    );
    if !blesses && !state.disk.menu.iter().any(|one| one.letter == OWN.letter) {
        out.push(Fault::OwnDefault);
        if !state.running.staged {
            out.push(Fault::Stages);
        }
    }
    others_at_the_menu(state, blesses, out);
}

/// What other people's tools do to the menu during an upgrade.
fn others_at_the_menu(state: &State, blesses: bool, out: &mut Vec<Fault>) {
    let open = phase(state).is_some_and(|phase| !phase.is_end());
    let (running, menu) = (state.running.system, &state.disk.menu);
    let default = menu.first().copied().filter(|_| open && !blesses);
    let Some(default) = default.filter(|_| !state.running.picked) else {
        return;
    };
    // Without a network, the cluster learns nothing about what happens to the default.
    let heard = !state.suffers(Flaw::NoNetwork) && !state.suffers(Flaw::MemberDown);
    if state.running.trial && heard && !default.same(running) {
        out.push(Fault::Imposes);
    }
    if default.pinned {
        out.push(Fault::Unpins);
    }
    if !state.ghost.given_up && menu.iter().any(|one| !is_left(state, *one)) {
        out.push(Fault::CleansUp);
    }
}

/// Whether a foreign clean-up keeps this system.
fn is_left(state: &State, one: System) -> bool {
    one.pinned || one.same(state.running.system)
}

/// The state after the fault.
#[must_use]
pub fn strike(state: &State, fault: Fault) -> State {
    let mut next = state.clone();
    next.left.all -= 1;
    match fault {
        Fault::Cut(loss) => cut(&mut next, loss),
        Fault::Kill => machine::restart(&mut next),
        Fault::Dies => dies(&mut next),
        Fault::Fails(end) => steps::fail(&mut next, end),
        Fault::PutBackFails => {
            next.disk.owed = true;
            stay_out(&mut next);
        }
        Fault::RestoreStaysOut => stay_out(&mut next),
        Fault::KubeadmFails => boot::kubelet_without_kubeadm(&mut next),
        Fault::Server(up) => next.cluster.up = up,
        Fault::LosesTheAnswer => next.ghost.lost = next.cluster.told.take(),
        Fault::OlderServer => next.cluster.server = 'a',
        Fault::Asks(ask) => next.cluster.ask = ask,
        Fault::Pauses => next.cluster.paused = true,
        Fault::Cordons => cordon(&mut next),
        Fault::Uncordons => uncordon(&mut next),
        Fault::CordonComesBack => {
            // The shields come in the same write.
            next.cluster.cordon = Cordon::ours(number(state));
            next.cluster.shielded = true;
        }
        Fault::ExclusionComesBack => next.cluster.excluded = Some(number(state)),
        Fault::Picks(at) => pick(&mut next, usize::from(at)),
        Fault::OwnDefault => boot::own_default(&mut next),
        Fault::Stages => next.running.staged = true,
        Fault::Imposes => impose(&mut next),
        Fault::Unpins => (next.disk.menu[0].pinned, next.ghost.given_up) = (false, true),
        Fault::CleansUp => clean_up(&mut next),
        Fault::Etc => next.disk.etc += 1,
        Fault::Sickens => next.running.sick = true,
        Fault::Inhibits => next.running.inhibited = true,
        Fault::Shuts => next.shut = true,
        Fault::Opens => next.shut = false,
        Fault::UnsetsTheClock => next.running.unset = true,
        Fault::Plane(strike) => plane::strike(&mut next, strike),
        Fault::Late(at) => next.running.now = at,
    }
    if let Fault::Plane(strike) = fault
        && plane::is_of_people(strike)
    {
        next.left.people -= 1;
    }
    if matches!(
        fault,
        Fault::Asks(_)
            | Fault::Pauses
            | Fault::Cordons
            | Fault::Uncordons
            | Fault::Picks(_)
            | Fault::OwnDefault
            | Fault::Stages
            | Fault::Imposes
            | Fault::Unpins
            | Fault::CleansUp
            | Fault::OlderServer
    ) {
        next.left.people -= 1;
    }
    next
}

fn cut(state: &mut State, loss: Loss) {
    state.left.cuts -= 1;
    let former = state.disk.unflushed.take();
    if let (Loss::Clearing, Some(at)) = (loss, state.disk.uncleared.take()) {
        state.disk.grubenv = crate::world::GrubEnv::Set(at);
    }
    match (loss, former) {
        (Loss::Swap, Some(former)) => state.disk.menu = former,
        (Loss::Replay, Some(former)) => state.disk.unreplayed = Some(former),
        (Loss::None | Loss::Swap | Loss::Replay | Loss::Clearing | Loss::Manifest(_), _) => {}
    }
    let torn = match loss {
        Loss::Manifest(torn) => Some(torn),
        Loss::None | Loss::Swap | Loss::Replay | Loss::Clearing => None,
    };
    with(&mut state.plane, |one| plane::cut(one, torn));
    boot::fall(state);
}

fn stay_out(state: &mut State) {
    state.ghost.kept_out = true;
    state.pc = Pc::Units(1);
}

/// GRUB reads the one-shot before it shows its menu.
fn pick(state: &mut State, at: usize) {
    boot::clear(state);
    let menu = state.disk.unreplayed.take();
    let menu = menu.unwrap_or_else(|| state.disk.menu.clone());
    let Some(system) = menu.get(at).copied() else {
        return;
    };
    state.ghost.by_hand |= !state.ghost.proven.contains(&system.letter);
    boot::enter(state, system, false, true);
}

/// Acts as `kubectl cordon`, which does not change Careen's mark. The cordon is the person's,
/// unless the agent had no chance to remove the mark.
fn cordon(state: &mut State) {
    state.cluster.cordon.set = true;
    state.ghost.foreign_cordon = !state.ghost.unseen_mark;
}

/// Acts as `kubectl uncordon`, which does not change Careen's mark.
fn uncordon(state: &mut State) {
    state.cluster.cordon.set = false;
    state.ghost.foreign_cordon = false;
    state.ghost.unseen_mark = state.cluster.cordon.is_left();
    state.ghost.unseen |= !state.cluster.pods;
    (state.cluster.pods, state.cluster.containers) = (true, true);
    state.cluster.attached = true;
}

fn dies(state: &mut State) {
    machine::restart(state);
    state.running.dead = true;
}

fn impose(state: &mut State) {
    let running = state.running.system;
    state.disk.menu.sort_by_key(|one| !one.same(running));
    state.disk.unflushed = None;
    state.ghost.imposed = Some(running.letter);
}

fn clean_up(state: &mut State) {
    let before = state.clone();
    state.disk.menu.retain(|one| is_left(&before, *one));
    state.disk.unflushed = None;
}
