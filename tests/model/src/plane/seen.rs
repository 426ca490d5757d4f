//! What careen-control answers, and what the agent sees of the control plane.

use std::collections::BTreeMap;

use upgrade::control_plane::{
    Component, Done, Drift, EtcdId, EtcdTag, Kind, Lock, Member, Other, Saved, Source, Survey, Task,
};
use upgrade::{ControlPlaneSeen, Phase, Reason};

use super::pods::{etcd, place};
use super::{ETCD, Folder, Lease, Live, Looked, Plane};
use crate::brain::phase;
use crate::cast;
use crate::world::{Do, End, State};

/// The name of this node.
const NODE: &str = "cp-1";

/// What shows the agent that this node runs a control plane. The keys are always there, in the
/// shared folder if it is not mounted.
#[must_use]
pub fn control_plane(state: &State) -> Option<ControlPlaneSeen> {
    let plane = state.plane?;
    let other = || Reason::KubernetesNotShared { detail: "x".into() };
    Some(ControlPlaneSeen {
        sign: "apiserver.key".to_owned(),
        shared: match plane.folder {
            Folder::Shared => Ok(()),
            Folder::Own | Folder::Empty => Err(other()),
        },
    })
}

/// How a task ended, for the brain.
///
/// # Errors
///
/// The task failed.
pub fn answer(state: &State, task: Task, end: End) -> Result<Done, Reason> {
    match (task, end) {
        (Task::Raise, End::Again | End::Bad) => Err(Reason::RaiseFailed { detail: "x".into() }),
        (_, End::Again | End::Bad | End::Cancelled) => Err(task.failed(&"x")),
        (Task::Survey, _) => Ok(Done::Surveyed(Box::new(survey(state)))),
        (Task::Lock, End::Busy) => Ok(Done::Busy {
            holder: "cp-2/7".into(),
        }),
        (Task::Lock, End::Done) => Ok(Done::Locked),
        (Task::SaveEtcd, _) => Ok(Done::SavedEtcd(Some(saved()))),
        (Task::Raise, _) => Ok(Done::Raised(cast::version(target(state)))),
        (Task::GiveUp, _) => Ok(Done::GivenUp),
        (Task::Yield, _) => Ok(Done::Yielded),
        (Task::Unlock, _) => Ok(Done::Unlocked),
    }
}

/// Remembers what an answer has shown, for the checks.
pub fn note(state: &mut State, finished: Option<(Do, End)>) {
    // The snapshot of a drained node is of this upgrade, if not of this turn.
    let drained = phase(state) == Some(&Phase::Drained);
    let (now, Some(plane)) = (state.running.now, &mut state.plane) else {
        return;
    };
    let well = plane.is_well();
    let looked = Looked {
        at: now,
        spares: plane.spares_this_node(),
        well,
    };
    let ghost = &mut plane.ghost;
    match finished {
        Some((Do::Control(Task::Survey), End::Done)) => ghost.looked = Some(looked),
        Some((Do::Control(Task::Lock), End::Done)) => {
            ghost.locked = Some(now);
        }
        Some((Do::Control(Task::Lock), End::Busy)) => {
            ghost.locked = None;
            ghost.saved &= drained;
        }
        Some((Do::Control(Task::Unlock), End::Done)) => {
            (ghost.locked, ghost.saved, ghost.touched) = (None, false, false);
        }
        _ => {}
    }
}

fn target(state: &State) -> char {
    let up = state.disk.record.record().upgrade.as_ref();
    let commit = up.and_then(|up| up.commit());
    commit.map_or('?', cast::letter)
}

fn saved() -> Saved {
    Saved {
        file: "/var/lib/careen/etcd/x.db".into(),
        bytes: 1,
        sha256: cast::digest('f'),
        revision: 1,
        removed: Vec::new(),
        no_configuration: None,
    }
}

/// The survey of this moment.
#[must_use]
pub fn survey(state: &State) -> Survey {
    let mut survey = Survey::of(NODE.into(), Kind::Stacked, 1);
    let Some(plane) = state.plane else {
        return survey;
    };
    survey.versions.image = Some(cast::version(target(state)));
    take_manifests(&mut survey, &plane, target(state));
    if plane.folder == Folder::Empty {
        survey.miss(Source::Credential, "no such file");
    } else if plane.serves(ETCD) {
        survey.me = Some(EtcdId(1));
        survey.members = members(&plane);
    } else {
        survey.miss(Source::Etcd, "connection refused");
    }
    match state.api_answers() {
        true => take_cluster(&mut survey, &plane),
        false => survey.miss(Source::Api, "connection refused"),
    }
    survey
}

fn take_manifests(survey: &mut Survey, plane: &Plane, image: char) {
    let mut manifests = BTreeMap::new();
    for component in Component::KUBERNETES {
        match plane.live[place(component)] {
            Live::Whole(page) => {
                manifests.insert(component, cast::version(page.letter));
            }
            Live::Torn => survey.miss(Source::Manifest, "it is empty"),
            Live::Missing => {}
        }
    }
    survey.versions.manifests = manifests;
    match plane.live[ETCD].page() {
        Some(page) => {
            survey.versions.etcd = tag(page.letter);
            survey.versions.etcd_wanted = tag(image);
        }
        None => survey.miss(Source::Manifest, "it does not exist"),
    }
    let drift = |component: &Component| {
        let page = plane.live[place(*component)].page();
        page.is_some_and(|page| page.edited)
    };
    let drift = Component::ALL.into_iter().filter(drift);
    let drift = drift.map(|component| Drift {
        component,
        setting: "--x".into(),
        changed: false,
    });
    survey.drift = Some(drift.collect());
}

fn tag(letter: char) -> Option<EtcdTag> {
    format!("{}-0", etcd(letter)).parse().ok()
}

fn members(plane: &Plane) -> Vec<Member> {
    let sick = (!plane.has_quorum()).then(|| "no leader".into());
    let own = member(1, plane.pods[ETCD], sick);
    let others = (0..plane.others).map(|at| {
        let away = at < plane.away;
        let version = (!away).then_some(plane.others_at);
        let lost = (!plane.has_quorum()).then(|| "no leader".into());
        member(
            2 + at,
            version,
            if away { Some("no route".into()) } else { lost },
        )
    });
    std::iter::once(own).chain(others).collect()
}

fn member(id: u8, version: Option<char>, sick: Option<upgrade::control_plane::Detail>) -> Member {
    Member {
        id: EtcdId(id.into()),
        name: format!("cp-{id}").into(),
        version: version.map(etcd),
        started: true,
        learner: false,
        leader: id == 1,
        lag: Some(0),
        sick,
    }
}

fn take_cluster(survey: &mut Survey, plane: &Plane) {
    survey.versions.cluster = Some(cast::version(plane.cluster));
    let down = |component: &Component| !plane.serves(place(*component));
    survey.own_not_ready = Component::ALL.into_iter().filter(down).collect();
    let holder = match plane.lease {
        Lease::Free => None,
        Lease::Ours(number) => Some(format!("{NODE}/{number}")),
        Lease::Others => Some("cp-2/7".to_owned()),
    };
    survey.lock = holder.map(|holder| Lock {
        holder: holder.into(),
        since: None,
    });
    for at in 0..plane.others {
        let (node, away) = (format!("cp-{}", at + 2), at < plane.away);
        survey.others.push(Other {
            node: node.as_str().into(),
            component: Component::ApiServer,
            version: cast::version(plane.others_at),
            ready: !away,
        });
        if away {
            survey.nodes_not_ready.push(node.into());
        }
    }
}
