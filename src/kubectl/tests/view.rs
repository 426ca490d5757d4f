//! Whatever a Node says of itself: it is parsed or passed over, and what is shown of it steers
//! nothing.
#![allow(clippy::unwrap_used)]

mod scene;
mod whole;

use kubectl::diagnose;
use kubectl::expected::Expected;
use kubectl::past_upgrades;
use kubectl::render::status::{Around, status};
use kubectl::render::{Look, explain, history, plan};
use kubectl::view::NodeView;
use proptest::prelude::*;
use scene::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use upgrade::names;

/// Texts that mean something to a parser or to a terminal, and any other.
fn text() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        Just("Scheduled".to_owned()),
        Just("InProgress".to_owned()),
        Just("Upgraded".to_owned()),
        Just("Failed".to_owned()),
        Just("Trial".to_owned()),
        Just("\u{1b}[2J\u{1b}]0;x\u{7}\r\n\u{202e}".to_owned()),
        Just("k-1".to_owned()),
    ];
    prop_oneof![known, any::<String>()]
}

/// What a node writes in three annotations, each type filled by [`whole`]: every string that can
/// hold any text holds this one.
fn answers() -> impl Strategy<Value = Value> {
    (text(), text(), any::<u64>()).prop_map(|(one, other, number)| {
        let written = whole::all().map(|(key, mut value)| {
            let mut count = 0;
            for path in whole::strings(&value) {
                if whole::holds_any_text(key, &value, &path) {
                    count += 1;
                    let text = if count % 2 == 0 { &one } else { &other };
                    if let Some(place) = value.pointer_mut(&path) {
                        *place = json!(text);
                    }
                }
            }
            whole::numbers(&mut value, number);
            (key.to_owned(), json!(value.to_string()))
        });
        let mut annotations = Value::Object(written.into_iter().collect());
        annotations[names::FAILURE_REASON] = json!(other);
        annotations
    })
}

fn shown(node: &NodeView) -> String {
    let expected = Expected::learn([node]);
    let (now, look) = (NOW, Look::default());
    let preview = plan::Preview {
        node: node.name.clone(),
        image: NEW.to_owned(),
        plan: node.plan.clone(),
        pods: None,
        usual_seconds: None,
    };
    let around = Around {
        now,
        expected: &expected,
        wide: true,
        look,
    };
    [
        status(&[node], around),
        explain::explain(&diagnose::explain(node, now, &expected), look),
        history::history(
            &past_upgrades::of(std::slice::from_ref(node)),
            true,
            true,
            look,
        ),
        plan::plan(&preview, true, look),
    ]
    .concat()
}

fn steers(text: &str) -> bool {
    text.contains(|letter| letter != '\n' && upgrade::sanitize::steers(letter))
}

/// Escapes of every kind that a terminal takes, and letters that nobody sees.
const STEERING: &str = "a\u{1b}]0;x\u{7}\u{1b}]52;c;eA==\u{7}\u{1b}[2J\r\u{9b}1A\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{2028}\u{feff}\u{e0041}b";

/// All texts that a view has kept of what a node wrote.
fn kept(node: &NodeView) -> Vec<String> {
    let written = json!([node.reply.status, node.history, node.plan]);
    let strings = whole::strings(&written);
    strings
        .iter()
        .filter_map(|path| written.pointer(path).and_then(Value::as_str))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_string_field_that_a_node_writes_is_cleaned() {
    let mut free = 0;
    for (key, value) in whole::all() {
        for path in whole::strings(&value) {
            let mut steering = value.clone();
            *steering.pointer_mut(&path).unwrap() = json!(STEERING);
            free += usize::from(whole::holds_any_text(key, &value, &path));
            let node = annotated("worker-1", json!({ key: steering.to_string() }));
            let shown = shown(&node);
            assert!(!steers(&shown), "{key}{path}: {shown:?}");
            let kept = kept(&node);
            assert!(
                !kept.iter().any(|text| steers(text)),
                "{key}{path}: {kept:?}"
            );
        }
    }
    assert!(free > 25, "only {free} fields can hold any text");
}

#[test]
fn every_field_of_what_a_node_writes_is_filled_here() {
    whole::has_every_field();
}

#[test]
fn every_string_of_the_object_itself_is_cleaned() {
    let object = json!({
        "metadata": {
            "name": STEERING, "uid": STEERING, "resourceVersion": STEERING,
            "annotations": {
                names::REQUEST: STEERING, names::IMAGE: STEERING, names::PAUSED: STEERING, names::PLAN: STEERING,
                names::FAILURE_REASON: STEERING, names::CORDONED_BY: STEERING, "cluster.x-k8s.io/machine": STEERING,
                STEERING: STEERING,
            },
        },
        "status": {
            "nodeInfo": { "kubeletVersion": STEERING },
            "conditions": [
                { "type": "Ready", "status": STEERING },
                { "type": names::CONDITION, "status": "False", "reason": STEERING, "message": STEERING },
            ],
        },
    });
    let read: kubectl::api::Node = serde_json::from_value(object).unwrap();
    let again = serde_json::to_value(&read).unwrap();
    for path in whole::strings(&again) {
        assert!(
            !steers(again.pointer(&path).unwrap().as_str().unwrap()),
            "{path}"
        );
    }
    let keys = again["metadata"]["annotations"].as_object().unwrap().keys();
    assert!(keys.into_iter().all(|key| !steers(key)), "keys too");
    let shown = shown(&read.into());
    assert!(!steers(&shown), "{shown:?}");
}

/// No string and no key of what is read again from this object steers.
fn is_clean<K: DeserializeOwned + Serialize>(object: Value) {
    let again = serde_json::to_value(serde_json::from_value::<K>(object).unwrap()).unwrap();
    let all = again.to_string();
    assert!(all.contains("[2J"), "{all}");
    // JSON escapes the characters that steer, but for those above ASCII.
    assert!(!all.contains("\\u00") && !steers(&all), "{all}");
}

#[test]
fn every_string_of_a_pod_budget_or_lease_is_cleaned() {
    let text = STEERING;
    let rule = json!({ "key": text, "operator": text, "values": [text] });
    let term = json!({ "matchExpressions": [rule], "matchFields": [rule] });
    let terms = json!({ "nodeSelectorTerms": [term] });
    let metadata = json!({
        "name": text, "namespace": text, "uid": text, "resourceVersion": text, "deletionTimestamp": "2026-11-30T00:00:00Z",
        "labels": { text: text }, "annotations": { text: text }, "finalizers": [text],
        "ownerReferences": [{ "apiVersion": text, "kind": text, "name": text, "uid": text, "controller": true }],
    });
    is_clean::<kubectl::api::Pod>(json!({
        "metadata": metadata,
        "spec": {
            "nodeName": text, "tolerations": [{ "key": text, "operator": text, "value": text, "effect": text }],
            "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": terms } },
        },
        "status": { "phase": text, "reason": text, "conditions": [{ "type": text, "status": text, "reason": text, "message": text }] },
    }));
    is_clean::<kubectl::api::Budget>(json!({
        "metadata": metadata,
        "spec": { "selector": { "matchLabels": { text: text }, "matchExpressions": [rule] } },
        "status": { "disruptionsAllowed": 1 },
    }));
    is_clean::<kubectl::api::Lease>(json!({
        "metadata": metadata,
        "spec": { "holderIdentity": text, "acquireTime": text, "renewTime": text },
    }));
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_steers_the_terminal(
        answers in answers(), request in text(), answer in text(), others in proptest::collection::vec(text(), 5),
    ) {
        let mut annotations = answers;
        let keys = [names::IMAGE, names::KUBERNETES_VERSION, names::UPGRADE_ID, names::PAUSED, names::CORDONED_BY];
        for (key, value) in keys.into_iter().zip(others) {
            annotations[key] = json!(value);
        }
        annotations[names::REQUEST] = json!(request);
        annotations[names::ANSWER] = json!(answer);
        let word = annotations[names::PAUSED].clone();
        let ours = json!({
            "type": names::CONDITION, "status": "False", "reason": word, "message": word, "lastHeartbeatTime": "2025-11-22T08:20:01Z",
        });
        let change = json!({ "metadata": { "annotations": annotations }, "status": { "conditions": [ours] } });
        let node = node("worker-1", change);
        let shown = shown(&node);
        prop_assert!(!steers(&shown), "{shown:?}");
    }

    #[test]
    fn no_text_in_place_of_json_panics(text in any::<String>()) {
        let all = [names::STATUS, names::HISTORY, names::PLAN_RESULT].map(|key| (key.to_owned(), json!(text)));
        let node = annotated("worker-1", Value::Object(all.into_iter().collect()));
        shown(&node);
    }
}
