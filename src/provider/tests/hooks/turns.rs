//! Whose turn it is among the Machines of a MachineDeployment, by what the watches show.

use provider::clusters::ClusterState;
use provider::engine::{Answer as Said, Machine, Mark, NodeFacts, Told};
use provider::world::World;
use upgrade::report::{Answer, Status};

use crate::scene::*;

const OTHER: &str = "n1-dlvkt-other";

/// Another Machine of the same MachineDeployment, and its Node after it has answered a request of ours so.
fn another(world: &World, state: &ClusterState, machine: Machine, answer: Answer) -> NodeFacts {
    world.machines.put(Machine {
        name: OTHER.into(),
        uid: "uid-other".into(),
        provider_id: Some("in-memory://other".into()),
        node: Some("node-2".into()),
        ..machine
    });
    let status = Status {
        id: "capi-0123".parse().ok(),
        ..Status::default()
    };
    let facts = NodeFacts {
        name: "node-2".into(),
        provider_id: Some("in-memory://other".into()),
        requested: true,
        id: Some("capi-0123".into()),
        answer: Some(answer),
        status: Some(status),
        ..node("v1.34.3")
    };
    state.put(facts.clone());
    facts
}

fn said(world: &World, machine: &Machine) -> String {
    let told = Told {
        version: "v1.34.3".into(),
        image: Ok(None),
    };
    match world.decide_for(machine, Some(&told), NOW).answer {
        Said::Held(why) => why.code(),
        other => other.class().to_owned(),
    }
}

#[tokio::test]
async fn a_node_that_says_upgraded_and_is_not_back_keeps_its_turn() {
    let (world, state) = world();
    let marked = Machine {
        mark: Some(Mark::default()),
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
async fn a_cluster_that_is_listed_anew_or_let_go_frees_the_turns_of_nodes_that_are_gone() {
    let (world, state) = world();
    let unmarked = worker();
    another(&world, &state, unmarked, Answer::InProgress);
    assert_eq!(said(&world, &worker()), "NotItsTurn");
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
