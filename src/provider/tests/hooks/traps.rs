//! The table of answers that core misreads (`capi-run.md`, section 6), with one test for each row
//! that the provider must avoid.

use provider::clusters::Clusters;
use provider::hooks::{Hook, Response};
use provider::machines::Machines;
use provider::queue::Queue;
use provider::settings::Settings;
use provider::world::World;
use serde_json::{Value, json};

use crate::scene::*;

/// As core reads it: only this is "done".
fn taken_as_done(response: &Value) -> bool {
    response["status"] == "Success" && response["retryAfterSeconds"].as_i64().unwrap_or(0) <= 0
}

#[test]
fn only_a_done_response_is_taken_as_done() {
    for seconds in [0, 1, 20] {
        let body = Response::InProgress("x".into(), seconds).body(Hook::UpdateMachine);
        assert!(!taken_as_done(&body), "{body}");
    }
    assert!(!taken_as_done(
        &Response::Hold("x".into()).body(Hook::UpdateMachine)
    ));
    assert!(taken_as_done(
        &Response::Done("x".into()).body(Hook::UpdateMachine)
    ));
}

#[test]
fn the_status_is_spelled_as_core_compares_it_and_always_there() {
    let all = [
        Response::Discovery(json!([])),
        Response::Can(Vec::new(), String::new()),
        Response::Replace("x".into()),
        Response::Hold("x".into()),
        Response::InProgress("x".into(), 1),
        Response::Done("x".into()),
    ];
    for response in all {
        let body = response.body(Hook::UpdateMachine);
        assert!(
            body["status"] == "Success" || body["status"] == "Failure",
            "{body}"
        );
    }
}

#[tokio::test]
async fn random_machineset_name_does_not_change_the_answer() {
    let (world, _) = world();
    let mut sample = sample("canupdatemachineset");
    sample.request["settings"] = json!({ "neverReplace": "true" });
    let mut answers = Vec::new();
    for name in ["s1-aaaaa", "s1-zzzzz"] {
        sample.request["desired"]["machineSet"]["metadata"]["name"] = json!(name);
        answers.push(call_with(&world, &sample)["message"].clone());
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn covered_change_always_has_a_patch_with_type_and_content() {
    let response = call_with(&world().0, &sample("canupdatemachine"));
    let patch = &response["machinePatch"];
    assert_eq!(patch["patchType"], "JSONPatch");
    assert!(patch["patch"].as_str().is_some_and(|text| text.len() > 8));
    assert!(
        response.get("bootstrapConfigPatch").is_none(),
        "what does not differ has no key at all"
    );
}

#[tokio::test]
async fn discovery_lists_three_hooks_with_fail_policy_and_timeout() {
    let response = discover(&world().0);
    assert_eq!(
        (&response["status"], &response["kind"]),
        (&json!("Success"), &json!("DiscoveryResponse"))
    );
    let handlers = response["handlers"].as_array().unwrap();
    assert_eq!(handlers.len(), 3);
    for handler in handlers {
        assert_eq!(
            handler["failurePolicy"], "Fail",
            "with Ignore a lost answer would be taken as done"
        );
        assert!((1..=30).contains(&handler["timeoutSeconds"].as_i64().unwrap()));
        assert_eq!(
            handler["requestHook"]["apiVersion"],
            "hooks.runtime.cluster.x-k8s.io/v1alpha1"
        );
        let name = handler["name"].as_str().unwrap();
        assert!(
            name.bytes().all(|c| c.is_ascii_lowercase() || c == b'-'),
            "{name} is a DNS label"
        );
    }
}

#[tokio::test]
async fn only_discovery_succeeds_before_everything_is_listed() {
    let (machines, queue) = (Machines::default(), Queue::default());
    let world = World::new(
        machines.clone(),
        Clusters::new(client(), machines, queue.clone()),
        queue,
        Settings::default(),
    );
    assert_eq!(
        discover(&world)["status"],
        "Success",
        "core leaves when nobody answers at its start"
    );
    assert_eq!(
        call_with(&world, &sample("canupdatemachine"))["status"],
        "Failure"
    );
    let mut uncovered = sample("canupdatemachineset");
    uncovered.request["desired"]["machineSet"]["spec"]["template"]["spec"]["failureDomain"] =
        json!("b");
    assert_eq!(
        call_with(&world, &uncovered)["status"],
        "Failure",
        "a word against replacing may not be seen yet"
    );
    assert!(!taken_as_done(&call_with(&world, &sample("updatemachine"))));
}

#[tokio::test]
async fn node_with_an_old_kubelet_is_not_done_despite_its_agent() {
    let (world, state) = world();
    let mut lying = node("v1.34.2");
    lying.resource_version = "2".into();
    lying.reply.answer = Some(upgrade::report::Answer::Upgraded);
    state.put(lying);
    assert!(!taken_as_done(&call_with(&world, &sample("updatemachine"))));
}

/// Small values take thirty times as much memory as their text.
#[tokio::test]
async fn a_body_of_small_values_is_refused_before_it_is_parsed() {
    let values = "{\"\":1},".repeat(300_000);
    let body = format!("{{\"machine\":[{values}null]}}");
    let reply = call(&world().0, &sample("updatemachine").path, body.as_bytes());
    assert_eq!(reply.status, 413, "{}", reply.body);
}
