//! UpdateMachine: start and progress in one call.

use futures::FutureExt;
use provider::engine::{Instruction, Machine};
use provider::machines::{Key, parse};
use provider::names;
use requests::NodeFacts;
use serde_json::json;
use upgrade::report::Answer;

use crate::scene::*;

fn told_id(world: &provider::world::World) -> String {
    let told = Instruction {
        version: "v1.34.3".into(),
        image: Ok(None),
    };
    let machine = world.machines.get(&Key::new("t1", MACHINE)).unwrap();
    match world.decide_for(&machine, Some(&told), NOW).node {
        Some(provider::engine::NodeWrite::Request { id, .. }) => id.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_first_call_has_the_node_asked_and_says_scheduled() {
    let (world, _) = world();
    let response = call_with(&world, &sample("updatemachine"));
    assert_eq!(
        (&response["status"], &response["message"]),
        (&json!("Success"), &json!("Scheduled, 0 %"))
    );
    assert!(response["retryAfterSeconds"].as_i64().unwrap() >= 1);
    assert_eq!(world.queue.depth(), 1, "the write is under way");
}

#[tokio::test]
async fn it_is_done_when_the_node_is_and_says_so_again_and_again() {
    let (world, state) = world();
    let id = told_id(&world);
    state.put(answered("v1.34.3", &id, Answer::Upgraded));
    for _ in 0..3 {
        let response = call_with(&world, &sample("updatemachine"));
        assert_eq!(
            (&response["message"], &response["retryAfterSeconds"]),
            (&json!("upgraded"), &json!(0))
        );
    }
}

#[tokio::test]
async fn a_failure_stays_in_progress_because_only_so_its_text_is_seen() {
    let (world, state) = world();
    let id = told_id(&world);
    state.put(NodeFacts {
        failure: Some("required check disk failed".into()),
        ..answered("v1.34.2", &id, Answer::Failed)
    });
    let response = call_with(&world, &sample("updatemachine"));
    assert_eq!(response["status"], "Success");
    assert_eq!(response["message"], "failed: required check disk failed");
    assert!(response["retryAfterSeconds"].as_i64().unwrap() >= 1);
}

#[tokio::test]
async fn each_call_judges_again_what_core_wants() {
    let (world, _) = world();
    assert_eq!(
        call_with(&world, &sample("updatemachine"))["message"],
        "Scheduled, 0 %"
    );
    let sample = wanting(&world, "v1.40.0");
    let response = call_with(&world, &sample);
    assert!(
        response["message"]
            .as_str()
            .unwrap()
            .starts_with("held: no ImageCatalogue"),
        "{response}"
    );
    assert!(response["retryAfterSeconds"].as_i64().unwrap() >= 1);
}

/// The Machine is changed to this version, and core calls for it.
fn wanting(world: &provider::world::World, version: &str) -> Sample {
    let mut machine = worker();
    machine.version = Some(version.to_owned());
    world.machines.put(machine);
    let mut sample = sample("updatemachine");
    sample.request["desired"]["machine"]["spec"]["version"] = json!(version);
    sample
}

/// Another server may answer by now. If no Node of the control plane is visible, nothing else would
/// show that.
#[tokio::test]
async fn server_version_is_read_again_while_it_alone_holds_a_machine() {
    let (world, state) = world();
    catalogue(&world, vec![entry("v1.35.0", 'c')]);
    let ahead = wanting(&world, "v1.35.0");
    let is_doubted = || state.until_doubted().now_or_never().is_some();
    let is_held = || {
        let response = call_with(&world, &ahead);
        let message = response["message"].as_str().unwrap_or_default();
        message.contains("is newer than the control plane's v1.34.3")
    };
    assert!(is_held());
    assert!(is_doubted());
    state.put(NodeFacts {
        name: "control-plane-1".into(),
        control_plane: true,
        ..node("v1.34.3")
    });
    assert!(is_doubted(), "for the Node that came");
    assert!(is_held());
    assert!(!is_doubted(), "a Node of the control plane holds it too");
}

/// The Machine of a control plane, on this Node.
fn member(node: &str) -> Machine {
    Machine {
        name: "m-cp-1".into(),
        uid: "uid-cp-1".into(),
        control_plane: true,
        node: Some(node.into()),
        ..worker()
    }
}

#[tokio::test]
async fn old_member_that_holds_a_machine_is_named() {
    let (world, state) = world();
    catalogue(&world, vec![entry("v1.35.0", 'c')]);
    let ahead = wanting(&world, "v1.35.0");
    let said = || call_with(&world, &ahead)["message"].to_string();
    assert!(said().contains("v1.34.3 (reported by its API server)"));
    state.put(NodeFacts {
        name: "cp-1".into(),
        uid: "uid-cp-1".into(),
        control_plane: true,
        ..node("v1.34.2")
    });
    let named = said();
    assert!(
        named.contains("v1.34.2 (Node cp-1, without a Machine)"),
        "{named}"
    );
    world.machines.put(member("cp-1"));
    let named = said();
    assert!(
        named.contains("v1.34.2 (Node cp-1, Machine m-cp-1)"),
        "{named}"
    );
}

#[tokio::test]
async fn late_duplicate_of_an_old_call_starts_nothing_and_is_not_done() {
    let (world, _) = world();
    let old = sample("updatemachine");
    let new = wanting(&world, "v1.34.4");
    catalogue(&world, vec![entry("v1.34.3", 'b'), entry("v1.34.4", 'c')]);
    let before = call_with(&world, &new);
    for _ in 0..2 {
        let late = call_with(&world, &old);
        assert_eq!(
            late["message"],
            "held: careen-provider sees another version in this Machine. No action is needed."
        );
        assert_eq!(call_with(&world, &new), before, "it is forgotten again");
    }
    let machine = world.machines.get(&Key::new("t1", MACHINE)).unwrap();
    assert_eq!(world.told(&machine).unwrap().version, "v1.34.4");
}

/// A watch that lagged shows the next update of a Machine without the end of the previous one.
#[tokio::test]
async fn call_for_an_old_version_does_not_apply_to_the_current_one() {
    let (world, state) = world();
    let id = told_id(&world);
    call_with(&world, &sample("updatemachine"));
    state.put(answered("v1.34.3", &id, Answer::Upgraded));
    let old = world.machines.get(&Key::new("t1", MACHINE)).unwrap();
    assert_eq!(
        world.decide(&old, NOW).answer,
        provider::engine::Answer::Done
    );
    let mut machine = worker();
    machine.version = Some("v1.34.4".to_owned());
    world.machines.put(machine.clone());
    let untold = world.decide(&machine, NOW);
    assert_eq!(
        (untold.answer, untold.node, untold.mark),
        (provider::engine::Answer::Untold, None, None)
    );
    world.saw(&machine);
    assert_eq!(world.told(&old), None, "and it does not come back");
}

#[tokio::test]
async fn call_for_a_machine_that_core_does_not_update_starts_nothing() {
    let (world, _) = world();
    let mut machine = worker();
    machine.in_progress = false;
    world.machines.put(machine.clone());
    let response = call_with(&world, &sample("updatemachine"));
    assert!(response["retryAfterSeconds"].as_i64().unwrap() >= 1);
    assert_eq!((world.queue.depth(), world.told(&machine)), (0, None));
}

/// The owner of a Machine first marks it, then writes the desired state, then makes the hook
/// pending.
#[tokio::test]
async fn a_call_before_core_has_the_hook_to_call_begins_nothing() {
    let (world, _) = world();
    let mut machine = worker();
    machine.hook_pending = false;
    world.machines.put(machine.clone());
    let response = call_with(&world, &sample("updatemachine"));
    assert!(response["retryAfterSeconds"].as_i64().unwrap() >= 1);
    assert_eq!((world.queue.depth(), world.told(&machine)), (0, None));
    let untold = world.decide(&machine, NOW);
    assert_eq!(
        (untold.answer, untold.node, untold.mark),
        (provider::engine::Answer::Untold, None, None)
    );
}

#[test]
fn the_hooks_that_core_has_to_call_are_a_list() {
    for (hooks, ours) in [
        ("UpdateMachine", true),
        ("BeforeUpgrade, UpdateMachine", true),
        ("UpdateMachineSet", false),
        ("", false),
    ] {
        let annotations = json!({ names::UPDATE_IN_PROGRESS: "", names::PENDING_HOOKS: hooks });
        let object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": { "name": "m", "annotations": annotations }, "spec": {},
        });
        let machine = parse(serde_json::from_value(object).unwrap());
        assert_eq!(machine.is_called_for(), ours, "{hooks:?}");
    }
}

#[tokio::test]
async fn refused_write_is_reported_and_not_shown_as_a_wait() {
    let (world, _) = world();
    let key = Key::new("t1", MACHINE);
    world.wrote(&key, Some("refused: nodes is forbidden (403)".to_owned()));
    let response = call_with(&world, &sample("updatemachine"));
    assert_eq!(
        response["message"],
        "held: could not update the object: refused: nodes is forbidden (403). Fix the cause; the write is retried."
    );
    assert_eq!(world.queue.depth(), 1, "and it is tried again");
    world.wrote(&key, None);
    let response = call_with(&world, &sample("updatemachine"));
    assert_eq!(response["message"], "Scheduled, 0 %");
}

#[tokio::test]
async fn a_machine_that_is_not_seen_is_in_progress_not_done() {
    let (world, _) = world();
    world.machines.remove(&Key::new("t1", MACHINE));
    let response = call_with(&world, &sample("updatemachine"));
    assert_eq!(response["status"], "Success");
    assert!(response["retryAfterSeconds"].as_i64().unwrap() >= 1);
}
