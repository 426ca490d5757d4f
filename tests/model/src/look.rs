//! The brain's observation of a state.

use upgrade::control_plane::Task;
use upgrade::serving::{NodePod, Offer, Serving, Unready};
use upgrade::{
    Api, Asked, Cause, Causes, Check, Effect, Finished, Health, Home, Hooks, ImageFacts, Machine,
    NoNetwork, NodeView, Observation, OneShot, Outcome, Reason, SinceBoot, Step, Turn, Unsound,
};

use crate::cast::{self, digest};
use crate::host;
use crate::plane::seen;
use crate::world::{Cordon, Do, End, Flaw, GrubEnv, Link, State};

/// The observation of one home.
#[must_use]
pub fn look(
    state: &State,
    home: Home,
    running: Option<Do>,
    finished: Option<(Do, End)>,
) -> Observation {
    let (run, link) = (&state.running, state.running.link);
    let step = |what: Do| step(state, what);
    let seen = Observation {
        machine: Machine {
            version: Some(cast::version(run.system.letter)),
            trial: run.trial,
            deployments: state.disk.menu.iter().map(|one| one.deployment()).collect(),
            one_shot: one_shot(state, home),
            restored: restored(state),
            etc_stale: etc_is_stale(state),
            staged: is_staged(state),
            hooks: Hooks {
                pre: state.careful,
                post: state.careful,
            },
            control_plane: seen::control_plane(state),
            integrity: (home == Home::Stage).then(|| integrity(state)),
            ..Machine::quiet(run.system.deployment())
        },
        node: NodeView {
            request: request(link),
            paused: link.paused.then(|| "x".into()),
            uncordoned: link.cordon.is_some_and(|cordon| !cordon.set),
            own_cordon: is_own_cordon(state),
            own_exclusion: is_own_exclusion(state),
            shielded: link.shielded,
            stale_mark: link.cordon.is_some_and(Cordon::is_left),
            api: api(state),
            ..NodeView::default()
        },
        turn: Turn {
            started: moment(run.started),
            clock_set: !run.unset,
            network: network(state),
            running: running.map(step),
            finished: finished.map(|(what, end)| Finished {
                step: step(what),
                outcome: outcome(state, what, end),
            }),
            health: health(state),
            serving: Serving {
                node: run
                    .link
                    .since
                    .map(|_| offer(!state.suffers(Flaw::ServesLess) && pods_serve(state))),
                ..Serving::default()
            },
            ..Turn::quiet(home, cast::boot_id(run.boot), moment(run.now))
        },
    };
    host::seen(state, seen)
}

/// Whether the static pods of a control plane serve; a worker has none.
fn pods_serve(state: &State) -> bool {
    state.plane.is_none_or(|plane| plane.is_well())
}

fn one_shot(state: &State, home: Home) -> OneShot {
    if home == Home::Stage && state.apart {
        return OneShot::Unreadable;
    }
    match state.disk.grubenv {
        GrubEnv::Clear => OneShot::Clear,
        GrubEnv::Set(_) => OneShot::Set,
        GrubEnv::Torn => OneShot::Unreadable,
    }
}

fn request(link: Link) -> Asked {
    match link.asked {
        None => Asked::Unknown,
        Some(None) => Asked::Nothing,
        Some(Some(ask)) => Asked::This(ask.raw()),
    }
}

fn api(state: &State) -> Api {
    match state.running.link.since {
        None => Api::Away,
        Some((since, versioned)) => Api::Reached {
            since: moment(since),
            version: versioned.then(|| cast::version(state.server())),
        },
    }
}

fn network(state: &State) -> Result<(), NoNetwork> {
    if state.suffers(Flaw::NoNetwork) {
        let to = "x".to_owned();
        return Err(NoNetwork::Route { to });
    }
    Ok(())
}

/// Depends on the content of the disk, for any upgrade.
fn restored(state: &State) -> Result<(), Reason> {
    if !state.disk.owed {
        return Ok(());
    }
    let text = || "x".to_owned();
    Err(Reason::StateOwed {
        id: text(),
        detail: text(),
        kept: text(),
    })
}

fn integrity(state: &State) -> Result<(), Unsound> {
    if state.suffers(Flaw::Tampered) {
        let changed = "usr/bin/kubelet: its content has changed".to_owned();
        return Err(Unsound::of_the_disk(changed));
    }
    Ok(())
}

fn moment(seconds: u16) -> SinceBoot {
    SinceBoot(0).plus_seconds(u64::from(seconds))
}

/// Checked only where it matters, as on a real node.
fn etc_is_stale(state: &State) -> bool {
    let booted = state.running.system.deployment();
    let upgrade = state.disk.record.record().upgrade.as_ref();
    let minds = upgrade.is_some_and(|up| up.needs_a_still_etc(&booted));
    minds && state.disk.etc_noted != state.disk.etc
}

/// Checked only where it matters, as on a real node.
fn is_staged(state: &State) -> bool {
    may_arm(state) && state.running.staged
}

fn may_arm(state: &State) -> bool {
    let booted = state.running.system.deployment();
    let upgrade = state.disk.record.record().upgrade.as_ref();
    upgrade.is_some_and(|up| up.may_arm_next(&booted))
}

/// Whether the last known cordon has the mark of the record's upgrade.
fn is_own_cordon(state: &State) -> bool {
    let up = state.disk.record.record().upgrade.as_ref();
    let mark = up.map(|up| Cordon::ours(cast::id_number(&up.id)));
    mark.is_some() && mark == state.running.link.cordon
}

/// Whether the last known load balancer label has that mark.
fn is_own_exclusion(state: &State) -> bool {
    let up = state.disk.record.record().upgrade.as_ref();
    let mark = up.map(|up| cast::id_number(&up.id));
    mark.is_some() && mark == state.running.link.excluded
}

/// The target commit of the upgrade under way.
fn wanted(state: &State) -> char {
    let up = state.disk.record.record().upgrade.as_ref();
    up.map_or('?', |up| match up.commit() {
        Some(commit) => cast::letter(commit),
        // The ref names the requester's image.
        None if up.target.to_string().ends_with('c') => 'c',
        None => 'b',
    })
}

/// The step as the brain names it.
#[must_use]
pub fn step(state: &State, what: Do) -> Step {
    match what {
        Do::Fetch => match &state.disk.record.record().upgrade {
            Some(up) => Step::Fetch {
                target: up.target.clone(),
            },
            None => Step::Clean,
        },
        Do::Verify => Step::Verify {
            commit: digest(wanted(state)),
        },
        Do::Rehearse => Step::Rehearse,
        Do::Deploy(letter) => Step::Deploy {
            commit: digest(letter),
        },
        Do::PreHooks => Step::PreHooks,
        Do::Exclude => Step::Exclude,
        Do::Drain => Step::Drain { spent_seconds: 0 },
        Do::Snapshot => Step::Snapshot,
        Do::Arm(system) => Step::Arm {
            deployment: system.deployment(),
        },
        Do::Disarm => Step::Disarm,
        Do::Reboot(force) => Step::Reboot { force },
        Do::Kubeadm => Step::Kubeadm,
        Do::Bless(letter) => Step::Bless {
            commit: digest(letter),
            over: None,
        },
        Do::Reinstate => reinstate(state),
        Do::PostHooks(upgraded) => Step::PostHooks { upgraded },
        Do::Release => Step::Release,
        Do::Unmark => Step::Unmark,
        Do::Settle => Step::Settle,
        Do::Undo(letter) => Step::Undo {
            // An unresolved image has no letter.
            commit: (letter != '?').then(|| digest(letter)),
        },
        Do::Clean => Step::Clean,
        Do::Control(task) => Step::Control { task },
        Do::Pass => Step::Pass,
    }
}

/// The step for the upgrade under way.
fn reinstate(state: &State) -> Step {
    match &state.disk.record.record().upgrade {
        Some(up) => Step::Reinstate {
            deployment: up.from.clone(),
            over: up.to.clone().unwrap_or_else(|| up.from.clone()),
        },
        None => Step::Clean,
    }
}

fn outcome(state: &State, what: Do, end: End) -> Outcome {
    if let Do::Control(task) = what {
        return controlled(state, task, end);
    }
    let text = || "x".to_owned();
    match end {
        End::Busy | End::Done => Outcome::Done(effect(state, what)),
        End::Cancelled => Outcome::Cancelled,
        End::Bad => Outcome::Failed(Reason::DeployFailed {
            verb: text(),
            detail: text(),
        }),
        End::Again => Outcome::Failed(match what {
            Do::Reboot(_) => Reason::RebootRefused { detail: text() },
            Do::Arm(_) | Do::Disarm => Reason::ArmFailed { detail: text() },
            Do::Snapshot => Reason::SnapshotFailed { detail: text() },
            Do::Exclude
            | Do::Drain
            | Do::Release
            | Do::Unmark
            | Do::Settle
            | Do::Rehearse
            | Do::Kubeadm => Reason::ApiAway { detail: text() },
            Do::PreHooks | Do::PostHooks(_) => Reason::HookFailed {
                hook: text(),
                detail: text(),
            },
            Do::Fetch
            | Do::Verify
            | Do::Deploy(_)
            | Do::Bless(_)
            | Do::Reinstate
            | Do::Undo(_)
            | Do::Clean
            | Do::Control(_)
            | Do::Pass => Reason::DeployDied {
                verb: text(),
                detail: text(),
            },
        }),
    }
}

fn effect(state: &State, what: Do) -> Effect {
    match what {
        Do::Fetch => Effect::Fetched {
            commit: digest(wanted(state)),
        },
        Do::Verify => Effect::Verified(facts(state)),
        Do::Rehearse => Effect::Rehearsed { blocked: None },
        Do::Deploy(letter) => state
            .disk
            .menu
            .iter()
            .find(|one| one.letter == letter)
            .map_or(Effect::Plain, |one| Effect::Deployed(one.deployment())),
        Do::Drain => Effect::Drained {
            serving: Serving {
                node: Some(offer(true)),
                ..Serving::default()
            },
        },
        Do::Snapshot => Effect::Saved {
            pods: Some(offer(true).pods),
        },
        Do::PreHooks
        | Do::Exclude
        | Do::Arm(_)
        | Do::Disarm
        | Do::Reboot(_)
        | Do::Kubeadm
        | Do::Bless(_)
        | Do::Reinstate
        | Do::PostHooks(_)
        | Do::Release
        | Do::Unmark
        | Do::Settle
        | Do::Undo(_)
        | Do::Clean
        | Do::Control(_)
        | Do::Pass => Effect::Plain,
    }
}

fn controlled(state: &State, task: Task, end: End) -> Outcome {
    match seen::answer(state, task, end) {
        Ok(done) => Outcome::Done(Effect::Controlled(done)),
        Err(reason) => Outcome::Failed(reason),
    }
}

fn facts(state: &State) -> ImageFacts {
    let letter = wanted(state);
    let mut facts = if letter == 'b' && state.flaw == Flaw::OtherBranch {
        cast::facts_of_another_branch(letter)
    } else {
        cast::facts(letter)
    };
    if let Some(info) = &mut facts.info {
        info.control = u32::from(state.plane.is_some());
    }
    facts
}

fn health(state: &State) -> Health {
    let fails = |fails: bool| {
        if fails {
            Check::Fail("it does not answer".to_owned())
        } else {
            Check::Pass
        }
    };
    let reached = state.running.link.since.is_some();
    let remote = |ok: bool| match (reached, ok) {
        (true, true) => Check::Pass,
        (true, false) | (false, _) => Check::Pending("not yet".to_owned()),
    };
    let runs = !state.suffers(Flaw::KubeletDown) && !state.running.sick;
    let user = if state.suffers(Flaw::UserCheck) {
        Check::Broken("exit code 1".to_owned())
    } else {
        Check::Pass
    };
    Health {
        runtime: fails(state.suffers(Flaw::NodesOwn)),
        kubelet: fails(!runs),
        sandbox: fails(!runs),
        credential: Check::Pass,
        kubeadm: fails(!state.running.kubeadm),
        ready: remote(runs && state.running.kubeadm && !state.suffers(Flaw::NeverReady)),
        version: remote(runs && state.running.kubeadm),
        pod_network: Check::Pass,
        required: vec![("10-app".to_owned(), user)],
        causes: causes(state),
    }
}

/// The node with one pod of its own, Ready or not.
#[must_use]
pub fn offer(ready: bool) -> Offer {
    let unready = (!ready).then(Unready::default);
    Offer {
        pods: vec![NodePod {
            unready,
            ..NodePod::default()
        }],
        ..Offer::default()
    }
}

/// Whether the node's own pods run, as far as the server shows.
#[must_use]
pub fn serves(serving: &Serving) -> bool {
    let node = serving.node.as_ref();
    node.is_some_and(|node| node.pods.iter().all(|pod| pod.unready.is_none()))
}

/// The agent sees that the node's own files keep the runtime from its work.
fn causes(state: &State) -> Causes {
    let mut causes = Causes::default();
    if state.suffers(Flaw::NodesOwn) {
        causes.runtime = Cause::Node;
    }
    causes
}

/// Whether every health check passes.
#[must_use]
pub fn is_well(health: &Health) -> bool {
    checks(health).all(|check| *check == Check::Pass)
}

/// Whether every check that needs no API server passes.
#[must_use]
pub fn is_well_by_itself(health: &Health) -> bool {
    let users = health.required.iter().map(|(_, check)| check);
    let mut own = [&health.runtime, &health.kubelet, &health.sandbox]
        .into_iter()
        .chain(users);
    own.all(|check| *check == Check::Pass)
}

/// Whether a check fails. A pending check is not a failure.
#[must_use]
pub fn fails(health: &Health) -> bool {
    checks(health).any(|check| matches!(check, Check::Fail(_) | Check::Broken(_)))
}

/// Whether a check is pending.
#[must_use]
pub fn is_pending(health: &Health) -> bool {
    checks(health).any(|check| matches!(check, Check::Pending(_)))
}

fn checks(health: &Health) -> impl Iterator<Item = &Check> {
    let own = [
        &health.runtime,
        &health.kubelet,
        &health.sandbox,
        &health.kubeadm,
        &health.ready,
        &health.version,
        &health.pod_network,
    ];
    let users = health.required.iter().map(|(_, check)| check);
    own.into_iter().chain(users)
}
