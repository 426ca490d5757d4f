//! What may break in between any two writes, and between any write and its effect. Each costs one of [`Left`].

use upgrade::Phase;

use crate::cast::{ASKS, Ask, System};
use crate::machine::phase;
use crate::world::{Act, Cordon, Do, End, Flaw, Left, Pc, State};
use crate::{boot, steps};

/// What a power cut takes of what was not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// Nothing.
    None,
    /// The swap: loader and system both find the former entries.
    Swap,
    /// The loader finds the former entries, for it replays no journal; the system the new ones.
    Replay,
    /// That the loader has cleared its one-shot.
    Clearing,
}

/// A misfortune.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The power goes.
    Cut(Loss),
    /// The agent is killed, and the step that it performs.
    Kill,
    /// So it is in a trial, and does not come back in this boot.
    Dies,
    /// The step under way fails, whatever it has brought about so far.
    Fails(End),
    /// The kubelet's state is not put back: the disk is full, or lets nothing be written there.
    PutBackFails,
    /// What puts it back does not run at all: its unit is masked, or waits for a file system that is broken.
    RestoreStaysOut,
    /// The unit that runs `kubeadm upgrade node` before the kubelet fails, though the API server
    /// answers: kubeadm has a time limit.
    KubeadmFails,
    /// The API server goes away, or comes back.
    Server(bool),
    /// The API server loses the answer that it had accepted: its store is put back to a backup, or somebody takes it off.
    LosesTheAnswer,
    /// The API server is put back to an older version.
    OlderServer,
    /// The requester writes something else, or takes the request back.
    Asks(Option<Ask>),
    /// The requester pauses the Node.
    Pauses,
    /// A person cordons the node.
    Cordons,
    /// A person takes the cordon off, whoever has set it, and pods come.
    Uncordons,
    /// The cordon of an upgrade that is over, or has given the node back, comes back: the API server carries out that write late, or is put back to before the release.
    CordonComesBack,
    /// Likewise the word to load balancers.
    ExclusionComesBack,
    /// A person chooses this entry from the menu.
    Picks(u8),
    /// A person deploys a system of their own and makes it the default.
    OwnDefault,
    /// A person stages a system of their own, which the next orderly way down makes the default.
    Stages,
    /// A person makes the system on trial the default.
    Imposes,
    /// Somebody takes the pin off the default.
    Unpins,
    /// A clean-up of somebody else's drops all systems that neither run nor are pinned.
    CleansUp,
    /// Somebody changes the running system's /etc.
    Etc,
    /// The kubelet dies for good, until the next boot.
    Sickens,
    /// Somebody holds an inhibitor until the next boot: no polite reboot comes about.
    Inhibits,
    /// The operator's hours end.
    Shuts,
    /// They begin again at once: the clock is put right, or they are widened.
    Opens,
    /// What is done now takes until this second of the boot.
    Late(u16),
}

/// Just beyond the moments that matter in a boot: patience with the API server, the trial's deadline, its hold, the end.
const LATE: [u16; 4] = [95, 605, 1505, 2165];

/// Whether an upgrade under way has had the node and has given it back, with the operator's hours.
fn is_given_back(state: &State) -> bool {
    let up = state.disk.record.record().upgrade.as_ref();
    up.is_some_and(|up| up.custody.is_given_back() && up.phase.can_be_withdrawn())
}

/// All that may happen in a state.
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
        if people > 0 {
            persons(state, out);
        }
    }
    if people > 0 && state.pc == Pc::Loader {
        let entries = u8::try_from(state.disk.menu.len()).unwrap_or(u8::MAX);
        out.extend((0..entries).map(Fault::Picks));
    }
}

/// Between these the order of what others do makes a difference to somebody.
const fn has_boundary(state: &State) -> bool {
    matches!(
        state.pc,
        Pc::Turn(_) | Pc::Acts(_) | Pc::Doing(..) | Pc::Waits(_)
    )
}

/// A trial whose system is not the default: whatever becomes of the agent, the deadman ends it.
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
    if state.cluster.server != 'a' {
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

/// What other people's tools do to the menu while an upgrade is under way.
fn others_at_the_menu(state: &State, blesses: bool, out: &mut Vec<Fault>) {
    let open = phase(state).is_some_and(|phase| !phase.is_end());
    let (running, menu) = (state.running.system, &state.disk.menu);
    let default = menu.first().copied().filter(|_| open && !blesses);
    let Some(default) = default.filter(|_| !state.running.picked) else {
        return;
    };
    // Of a default without a network nobody hears what becomes of it.
    let heard = !state.suffers(Flaw::NoNetwork);
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

/// Whether a clean-up of somebody else's leaves this one.
fn is_left(state: &State, one: System) -> bool {
    one.pinned || one.same(state.running.system)
}

/// A system that a person brings, and vouches for.
pub const OWN: System = System::new('d', 0);

/// The state after it.
#[must_use]
pub fn strike(state: &State, fault: Fault) -> State {
    let mut next = state.clone();
    next.left.all -= 1;
    match fault {
        Fault::Cut(loss) => cut(&mut next, loss),
        Fault::Kill => steps::kill(&mut next),
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
        Fault::CordonComesBack => next.cluster.cordon = Cordon::ours(steps::number(state)),
        Fault::ExclusionComesBack => next.cluster.excluded = Some(steps::number(state)),
        Fault::Picks(at) => pick(&mut next, usize::from(at)),
        Fault::OwnDefault => own_default(&mut next),
        Fault::Stages => next.running.staged = true,
        Fault::Imposes => impose(&mut next),
        Fault::Unpins => (next.disk.menu[0].pinned, next.ghost.given_up) = (false, true),
        Fault::CleansUp => clean_up(&mut next),
        Fault::Etc => next.disk.etc += 1,
        Fault::Sickens => next.running.sick = true,
        Fault::Inhibits => next.running.inhibited = true,
        Fault::Shuts => next.shut = true,
        Fault::Opens => next.shut = false,
        Fault::Late(at) => next.running.now = at,
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
        (Loss::None | Loss::Swap | Loss::Replay | Loss::Clearing, _) => {}
    }
    boot::fall(state);
}

fn stay_out(state: &mut State) {
    state.ghost.kept_out = true;
    state.pc = Pc::Units(1);
}

/// GRUB takes the one-shot before it shows its menu.
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

/// As `kubectl cordon`, which leaves our mark as it is. It is theirs unless the agent had no chance to take the mark off.
fn cordon(state: &mut State) {
    state.cluster.cordon.set = true;
    state.ghost.foreign_cordon = !state.ghost.unseen_mark;
}

/// As `kubectl uncordon`, which leaves our mark as it is.
fn uncordon(state: &mut State) {
    state.cluster.cordon.set = false;
    state.ghost.foreign_cordon = false;
    state.ghost.unseen_mark = state.cluster.cordon.is_left();
    state.ghost.unseen |= !state.cluster.pods;
    state.cluster.pods = true;
}

fn dies(state: &mut State) {
    steps::kill(state);
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

/// It is the default from now on, once.
pub fn own_default(state: &mut State) {
    state.disk.menu.retain(|one| !one.same(OWN));
    state.disk.menu.insert(0, OWN);
    state.disk.unflushed = None;
    state.disk.folders.insert((OWN.letter, OWN.serial));
    state.ghost.proven.insert(OWN.letter);
}
