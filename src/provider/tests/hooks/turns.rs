//! Which Machine of a MachineDeployment has its turn, by what the watches show.

use provider::clusters::ClusterState;
use provider::engine::{Answer as Said, Instruction, Machine, Mark};
use provider::machines::Key;
use provider::world::World;
use requests::{NodeFacts, Reply};
use upgrade::report::Answer;

use crate::scene::*;

const OTHER: &str = "n1-dlvkt-other";

/// Another Machine of the same MachineDeployment, and its Node after it has given this answer to a
/// request of the provider.
fn another(world: &World, state: &ClusterState, machine: Machine, answer: Answer) -> NodeFacts {
    world.machines.put(Machine {
        name: OTHER.into(),
        uid: "uid-other".into(),
        provider_id: Some("in-memory://other".into()),
        node: Some("node-2".into()),
        ..machine
    });
    let facts = NodeFacts {
        name: "node-2".into(),
        provider_id: Some("in-memory://other".into()),
        requested: true,
        id: Some("capi-0123".into()),
        ..answered("v1.34.3", "capi-0123", answer)
    };
    state.put(facts.clone());
    facts
}

fn said(world: &World, machine: &Machine) -> String {
    said_at(world, machine, NOW)
}

fn said_at(world: &World, machine: &Machine, now: i64) -> String {
    let told = Instruction {
        version: "v1.34.3".into(),
        image: Ok(None),
    };
    match world.decide_for(machine, Some(&told), now).answer {
        Said::Held(why) => why.code(),
        other => other.class().to_owned(),
    }
}

#[tokio::test]
async fn a_node_that_says_upgraded_and_is_not_back_keeps_its_turn() {
    let (world, state) = world();
    let marked = Machine {
        mark: Some(Mark {
            skip_is_ours: true,
            since: NOW,
            ..Mark::default()
        }),
        ..worker()
    };
    let mut unready = another(&world, &state, marked, Answer::Upgraded);
    unready.ready = false;
    state.put(unready);
    assert_eq!(said(&world, &worker()), "NotItsTurn");
    another(&world, &state, worker(), Answer::Upgraded);
    assert_eq!(said(&world, &worker()), "InProgress", "its mark is off");
}

fn annotated() -> Machine {
    Machine {
        asked: true,
        in_progress: false,
        hook_pending: false,
        ..worker()
    }
}

#[tokio::test]
async fn asked_by_annotation_a_node_that_has_failed_keeps_its_turn() {
    let (world, state) = world();
    another(&world, &state, annotated(), Answer::Failed);
    assert_eq!(said(&world, &annotated()), "OthersFailed");
    let gone = Machine {
        asked: false,
        ..annotated()
    };
    another(&world, &state, gone, Answer::Failed);
    assert_eq!(said(&world, &annotated()), "InProgress", "asked no more");
}

#[tokio::test]
async fn asked_by_core_it_does_not_for_core_counts_it() {
    let (world, state) = world();
    another(&world, &state, worker(), Answer::Failed);
    assert_eq!(said(&world, &worker()), "InProgress");
}

#[tokio::test]
async fn relisted_or_dropped_cluster_frees_turns_of_missing_nodes() {
    let (world, state) = world();
    let unmarked = worker();
    another(&world, &state, unmarked, Answer::InProgress);
    assert_eq!(said(&world, &worker()), "TurnKept");
    let link = state.link().unwrap();
    state.live(link, vec![node("v1.34.2")], NOW);
    assert_eq!(said(&world, &worker()), "InProgress");
    another(&world, &state, worker(), Answer::InProgress);
    state.remove("node-2");
    assert_eq!(said(&world, &worker()), "InProgress");
    another(&world, &state, worker(), Answer::InProgress);
    world.machines.replace_clusters(Vec::new());
    world.clusters.follow();
    let group = worker().group();
    assert_eq!(world.machines.others_at_work(&group, &worker().key()), 0);
}

/// It never had a request, or has one from somebody else.
#[tokio::test]
async fn node_claiming_to_work_holds_its_group_for_a_limited_time() {
    let (world, state) = world();
    let limit = world.settings.policy.upgrade_seconds;
    another(&world, &state, worker(), Answer::InProgress);
    assert_eq!(said_at(&world, &worker(), NOW), "TurnKept");
    let mut stopped = another(&world, &state, worker(), Answer::InProgress);
    (stopped.reply.answer, stopped.requested) = (None, false);
    state.put(stopped);
    another(&world, &state, worker(), Answer::InProgress);
    assert_eq!(said_at(&world, &worker(), NOW + limit - 1), "TurnKept");
    assert_eq!(said_at(&world, &worker(), NOW + limit), "InProgress");
    let asks_itself = |facts: NodeFacts| NodeFacts {
        reply: Reply::default(),
        ..facts
    };
    state.put(asks_itself(another(
        &world,
        &state,
        worker(),
        Answer::InProgress,
    )));
    assert_eq!(
        said_at(&world, &worker(), NOW + limit),
        "InProgress",
        "nor by a request that it writes itself"
    );
}

#[tokio::test]
async fn working_node_keeps_its_turn_until_a_person_leaves_it_out() {
    let (world, state) = world();
    let marked = |left_out: bool| Machine {
        mark: Some(Mark::default()),
        left_out,
        ..worker()
    };
    another(&world, &state, marked(false), Answer::InProgress);
    let later = NOW + 10 * world.settings.policy.upgrade_seconds;
    assert_eq!(
        said_at(&world, &worker(), later),
        "TurnKept",
        "its time is over"
    );
    another(&world, &state, marked(true), Answer::InProgress);
    assert_eq!(said_at(&world, &worker(), later), "InProgress");
}

/// A person keeps its Machine from remediation, so the mark does not show that its time is over.
#[tokio::test]
async fn late_node_is_named_even_if_a_person_skips_remediation() {
    let (world, state) = world();
    let marked = Machine {
        mark: Some(Mark {
            since: NOW,
            ..Mark::default()
        }),
        skips_remediation: true,
        ..worker()
    };
    another(&world, &state, marked, Answer::InProgress);
    assert_eq!(said(&world, &worker()), "NotItsTurn");
    let later = NOW + 4 * world.settings.policy.upgrade_seconds;
    assert_eq!(said_at(&world, &worker(), later), "TurnKept");
}

#[tokio::test]
async fn held_machine_is_told_of_a_node_that_is_paused_or_waiting() {
    for code in ["Paused", "WindowClosed", "Soaking"] {
        let (world, state) = world();
        let marked = Machine {
            mark: Some(Mark {
                skip_is_ours: true,
                since: NOW,
                ..Mark::default()
            }),
            ..worker()
        };
        let mut waits = another(&world, &state, marked, Answer::InProgress);
        assert_eq!(said(&world, &worker()), "NotItsTurn");
        if let Some(status) = &mut waits.reply.status {
            status.code = Some(code.to_owned());
        }
        state.put(waits);
        assert_eq!(said(&world, &worker()), "TurnKept", "{code}");
    }
}

#[tokio::test]
async fn failed_node_keeps_its_turn_until_a_person_leaves_it_out() {
    let (world, state) = world();
    another(&world, &state, annotated(), Answer::Failed);
    assert_eq!(said(&world, &annotated()), "OthersFailed");
    let left_out = Machine {
        left_out: true,
        ..annotated()
    };
    another(&world, &state, left_out, Answer::Failed);
    assert_eq!(said(&world, &annotated()), "InProgress");
}

/// The oldest kubelet that the control plane waits for, and its owner.
fn oldest(world: &World, state: &ClusterState) -> Option<(String, String)> {
    let found = world.oldest_kubelet(&Key::new("t1", "c1"), state)?;
    assert_eq!(found.version.to_string(), "v1.0.0", "{found:?}");
    Some((found.node, found.machine))
}

#[tokio::test]
async fn oldest_kubelet_counts_only_machines_that_are_not_left_out() {
    let (world, state) = world();
    let nobodys = NodeFacts {
        name: "nobodys".into(),
        ..node("v1.0.0")
    };
    state.put(nobodys);
    let oldest_of_all = world.oldest_kubelet(&Key::new("t1", "c1"), &state);
    assert_eq!(
        oldest_of_all.map(|found| found.node).as_deref(),
        Some("node-1")
    );
    let mut lies = another(&world, &state, worker(), Answer::Upgraded);
    (lies.kubelet, lies.resource_version) = ("v1.0.0".into(), "2".into());
    state.put(lies.clone());
    let named = Some(("node-2".to_owned(), OTHER.to_owned()));
    assert_eq!(oldest(&world, &state), named);
    let of_another = NodeFacts {
        provider_id: Some("in-memory://another".into()),
        resource_version: "3".into(),
        ..lies.clone()
    };
    state.put(of_another);
    let found = world.oldest_kubelet(&Key::new("t1", "c1"), &state);
    assert_eq!(
        found.map(|found| found.node).as_deref(),
        Some("node-1"),
        "it is not the Machine's"
    );
    lies.resource_version = "4".into();
    state.put(lies);
    assert_eq!(oldest(&world, &state), named);
    let left_out = Machine {
        left_out: true,
        ..world
            .machines
            .get(&Key::new("t1", OTHER))
            .unwrap()
            .as_ref()
            .clone()
    };
    world.machines.put(left_out);
    let found = world.oldest_kubelet(&Key::new("t1", "c1"), &state);
    assert_eq!(found.map(|found| found.node).as_deref(), Some("node-1"));
}

/// A member of the control plane, that core updates.
fn member() -> Machine {
    Machine {
        control_plane: true,
        deployment: None,
        ..worker()
    }
}

/// A person asked it, or core did: its upgrade has halted.
#[tokio::test]
async fn hurt_member_holds_the_others_until_a_person_acts() {
    let (world, state) = world();
    let mut hurt = another(&world, &state, member(), Answer::Failed);
    let mut shows = |cordoned: bool, version: &str| {
        hurt.cordoned = cordoned;
        hurt.resource_version = version.to_owned();
        if let Some(status) = &mut hurt.reply.status {
            status.phase = "Halted".to_owned();
        }
        state.put(hurt.clone());
    };
    shows(true, "3");
    assert_eq!(said(&world, &member()), "ControlPlaneHurt");
    assert_eq!(said(&world, &worker()), "InProgress", "a worker's turn");
    shows(false, "4");
    assert_eq!(said(&world, &member()), "InProgress", "uncordoned");
    shows(true, "5");
    let left_out = Machine {
        left_out: true,
        ..member()
    };
    another(&world, &state, left_out, Answer::Failed);
    shows(true, "6");
    assert_eq!(said(&world, &member()), "InProgress", "left out");
}

/// A worker's group continues after a while. Two members must not be away at once.
#[tokio::test]
async fn member_that_works_for_somebody_else_is_waited_for() {
    let (world, state) = world();
    let limit = world.settings.policy.upgrade_seconds;
    another(&world, &state, member(), Answer::InProgress);
    for later in [0, limit / 2, limit, limit + limit / 2] {
        assert_eq!(said_at(&world, &member(), NOW + later), "TurnKept");
    }
}
