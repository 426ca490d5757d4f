//! UpdateMachine: begin and progress in one.

use provider::engine::Told;
use provider::machines::Key;
use serde_json::json;
use upgrade::report::{Answer, Status};

use crate::scene::*;

fn told_id(world: &provider::world::World) -> String {
    let told = Told {
        version: "v1.34.3".into(),
        image: None,
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
    let mut upgraded = node("v1.34.3");
    upgraded.resource_version = "2".into();
    upgraded.answer = Some(Answer::Upgraded);
    upgraded.status = Some(Status {
        id: Some(id.parse().unwrap()),
        phase: "Upgraded".into(),
        ..Status::default()
    });
    state.put(upgraded);
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
    let mut failed = node("v1.34.2");
    failed.resource_version = "2".into();
    (failed.answer, failed.failure) = (
        Some(Answer::Failed),
        Some("required check disk failed".into()),
    );
    failed.status = Some(Status {
        id: Some(id.parse().unwrap()),
        phase: "Failed".into(),
        ..Status::default()
    });
    state.put(failed);
    let response = call_with(&world, &sample("updatemachine"));
    assert_eq!(response["status"], "Success");
    assert_eq!(response["message"], "failed: required check disk failed");
    assert!(response["retryAfterSeconds"].as_i64().unwrap() >= 1);
}

#[tokio::test]
async fn what_core_wants_is_judged_anew_at_each_call() {
    let (world, _) = world();
    let mut sample = sample("updatemachine");
    sample.request["desired"]["machine"]["spec"]["version"] = json!("v1.40.0");
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

#[tokio::test]
async fn a_machine_that_is_not_seen_is_in_progress_not_done() {
    let (world, _) = world();
    world.machines.remove(&Key::new("t1", MACHINE));
    let response = call_with(&world, &sample("updatemachine"));
    assert_eq!(response["status"], "Success");
    assert!(response["retryAfterSeconds"].as_i64().unwrap() >= 1);
}
