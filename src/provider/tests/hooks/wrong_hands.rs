//! Bodies that core would not send.

use provider::hooks::{Hook, HttpResponse, answer, hook_of};
use serde_json::{Value, json};

use crate::scene::*;

#[tokio::test]
async fn a_body_that_is_no_json_is_refused_without_repeating_it() {
    let (world, _) = world();
    for body in [
        b"".as_slice(),
        b"secret-token",
        b"\xff\xfe",
        b"[]",
        b"{\"kind\":",
        b"null",
        b"42",
    ] {
        for hook in [
            Hook::Discovery,
            Hook::CanUpdateMachine,
            Hook::CanUpdateMachineSet,
            Hook::UpdateMachine,
        ] {
            let reply = answer(&world, hook, body, NOW);
            assert_eq!(reply.status, 400, "{body:?}");
            assert!(!reply.body.to_string().contains("secret-token"));
        }
    }
}

#[tokio::test]
async fn unknown_contract_version_or_wrong_kind_is_refused() {
    let (world, _) = world();
    let mut sample = sample("updatemachine");
    sample.request["apiVersion"] = json!("hooks.runtime.cluster.x-k8s.io/v9");
    let reply = call(&world, &sample.path, sample.request.to_string().as_bytes());
    assert_eq!(reply.status, 400);
    assert!(reply.body["message"].as_str().unwrap().contains("v9"));
    sample.request["apiVersion"] = json!("hooks.runtime.cluster.x-k8s.io/v1alpha1");
    sample.request["kind"] = json!("CanUpdateMachineRequest");
    assert_eq!(
        call(&world, &sample.path, sample.request.to_string().as_bytes()).status,
        400
    );
}

#[tokio::test]
async fn fields_that_are_not_known_yet_change_nothing() {
    let (world, _) = world();
    let mut sample = sample("canupdatemachine");
    let before = call_with(&world, &sample);
    sample.request["affectsAvailability"] = json!({ "deep": [1, 2, 3] });
    sample.request["current"]["somethingNew"] = json!({ "spec": {} });
    assert_eq!(call_with(&world, &sample), before);
}

#[tokio::test]
async fn a_request_without_its_objects_holds() {
    let (world, _) = world();
    for hook in ["canupdatemachine", "canupdatemachineset", "updatemachine"] {
        let mut sample = sample(hook);
        sample.request["desired"] = json!({});
        assert_eq!(call_with(&world, &sample)["status"], "Failure", "{hook}");
    }
}

#[tokio::test]
async fn hostile_strings_come_back_short_and_on_one_line() {
    let (world, _) = world();
    let hostile = format!("v1\n\u{1b}[2J{}", "A".repeat(50_000));
    let mut sample = sample("updatemachine");
    sample.request["desired"]["machine"]["spec"]["version"] = json!(hostile);
    let message = call_with(&world, &sample)["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.chars().count() < 1000 && !message.contains(['\n', '\u{1b}']),
        "{} characters",
        message.len()
    );
    let mut names = sample;
    names.request["desired"]["machine"]["metadata"]["name"] = json!("../../etc/passwd");
    assert_eq!(
        call_with(&world, &names)["status"],
        "Success",
        "a Machine of that name is not seen, no more"
    );
}

#[tokio::test]
async fn deep_nesting_does_not_end_the_process() {
    let (world, _) = world();
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    assert_eq!(
        answer(&world, Hook::UpdateMachine, deep.as_bytes(), NOW).status,
        400
    );
}

#[test]
fn only_contract_paths_are_hooks_under_any_prefix() {
    let base = "/hooks.runtime.cluster.x-k8s.io/v1alpha1";
    assert_eq!(hook_of(&format!("{base}/discovery")), Some(Hook::Discovery));
    assert_eq!(
        hook_of(&format!(
            "/prefix/of/url{base}/updatemachine/update-machine"
        )),
        Some(Hook::UpdateMachine)
    );
    for other in [
        "/".to_owned(),
        format!("{base}/updatemachine"),
        format!("{base}/updatemachine/can-update-machine"),
        format!("{base}/discovery/x"),
        format!("{base}/updatemachine/update-machine/.."),
        "/hooks.runtime.cluster.x-k8s.io/v1beta1/discovery".to_owned(),
    ] {
        assert_eq!(hook_of(&other), None, "{other}");
    }
}

/// JSON pointers to every value in a document.
fn pointers(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            pointers(value, &format!("{here}/{key}"), all);
        }),
        Value::Array(list) => {
            let each = list.iter().enumerate();
            each.for_each(|(at, value)| pointers(value, &format!("{here}/{at}"), all));
        }
        _ => {}
    }
}

/// The dangerous effect of a reply on core: core takes it as done, or as covered although a
/// difference is left.
fn harm(sample: &Sample, reply: &HttpResponse) -> Option<&'static str> {
    let body = &reply.body;
    if reply.status != 200 || body["status"] != "Success" {
        return None;
    }
    if body["kind"] == "UpdateMachineResponse" {
        return (body["retryAfterSeconds"].as_i64().unwrap_or(0) <= 0).then_some("taken as done");
    }
    let says_yes = body.as_object()?.keys().any(|key| key.ends_with("Patch"));
    // Core cannot have read a value that is not an object, so it does not patch it either.
    let objects = pairs(&sample.request)
        .into_iter()
        .filter(|(_, current, _)| current.is_object());
    let mut left =
        objects.map(|(key, current, desired)| patched(body, key, &current) != desired["spec"]);
    let left = says_yes && left.any(|left| left);
    left.then_some("covered, and something is left over")
}

#[tokio::test]
async fn replacing_any_request_value_never_yields_a_harmful_answer() {
    let (world, _) = world();
    let junk = [
        json!(null),
        json!(0),
        json!(true),
        json!(""),
        json!("v9.9.9"),
        json!([]),
        json!({}),
        json!({ "a": { "b": 1 } }),
    ];
    for hook in ["canupdatemachine", "canupdatemachineset", "updatemachine"] {
        let original = sample(hook);
        let mut places = Vec::new();
        pointers(&original.request, "", &mut places);
        assert!(places.len() > 50);
        for place in &places {
            for value in &junk {
                let mut sample = Sample {
                    path: original.path.clone(),
                    request: original.request.clone(),
                };
                *sample.request.pointer_mut(place).unwrap() = value.clone();
                let reply = call(&world, &sample.path, sample.request.to_string().as_bytes());
                assert_eq!(
                    harm(&sample, &reply),
                    None,
                    "{hook} {place} {value}: {}",
                    reply.body
                );
            }
        }
    }
}
