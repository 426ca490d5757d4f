//! Nothing that a node writes steers a terminal. Each field of its annotations is filled with text
//! that would, from the same list of all fields as for kubectl careen.
#![allow(clippy::unwrap_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../../kubectl/tests/whole/mod.rs"]
mod whole;

use provider::api::Node;
use provider::kinds::{Agent, CareenHost, CareenHostStatus, HostCondition};
use serde_json::{Map, Value, json};
use upgrade::names;

const STEERING: &str = "a\u{1b}]0;x\u{7}\u{9b}\u{202e}\u{2066}\u{200b}\u{2028}\u{61c}\u{e0041}b";

/// The request, which has this program's prefix: of others the history is passed over.
const ID: &str = "capi-1";

/// This JSON, with the text in place of every string that may be any.
fn steering(key: &str, mut value: Value) -> Value {
    let free = whole::strings(&value).into_iter();
    let free: Vec<_> = free
        .filter(|path| whole::holds_any_text(key, &value, path))
        .collect();
    for path in free {
        *value.pointer_mut(&path).unwrap() = json!(STEERING);
    }
    json!(value.to_string().replace("k-1", ID))
}

fn node() -> Value {
    let written = whole::all().map(|(key, value)| (key.to_owned(), steering(key, value)));
    let mut annotations: Map<String, Value> = written.into_iter().collect();
    for key in [
        names::REQUEST,
        names::IMAGE,
        names::KUBERNETES_VERSION,
        names::PAUSED,
        names::FAILURE_REASON,
    ] {
        annotations.insert(key.to_owned(), json!(STEERING));
    }
    annotations.insert(names::UPGRADE_ID.to_owned(), json!(ID));
    annotations.insert(names::ANSWER.to_owned(), json!("Failed"));
    json!({
        "metadata": { "name": "n", "uid": "u", "annotations": annotations },
        "spec": {},
        "status": { "nodeInfo": { "kubeletVersion": STEERING } },
    })
}

#[test]
fn no_field_that_a_node_writes_steers_a_terminal() {
    whole::has_every_field();
    let node: Node = serde_json::from_value(node()).unwrap();
    let facts = &node.facts;
    assert!(facts.reply.status.is_some(), "the status was read");
    assert!(facts.ended.is_some(), "the history was read");
    // Debug escapes control characters, so an escape shows that one is left.
    let shown = format!("{node:?}");
    assert!(shown.contains("]0;x"), "{shown}");
    assert!(
        !shown.contains("\\u{") && !shown.contains('\u{202e}'),
        "{shown}"
    );
}

/// The status of a host with the text in each string. A new field does not compile until it is here.
fn host() -> Value {
    let text = || STEERING.to_owned();
    let status = CareenHostStatus {
        phase: infrastructure::Phase::Failed,
        step: text(),
        reason: text(),
        message: text(),
        observed_claim: Some(text()),
        hostname: text(),
        machine_id: text(),
        boot_id: text(),
        addresses: vec![provider::kinds::Address {
            kind: text(),
            address: text(),
        }],
        architecture: text(),
        capacity: [(text(), text())].into(),
        image: text(),
        image_version: text(),
        loader: text(),
        agent: Some(Agent { version: text() }),
        conditions: vec![HostCondition {
            kind: text(),
            status: text(),
            reason: text(),
            message: text(),
            last_transition_time: Some(text()),
        }],
    };
    json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost", "metadata": { "name": "h" },
        "spec": { "registration": "r" }, "status": status,
    })
}

#[test]
fn no_field_that_a_host_writes_steers_a_terminal() {
    let written = host();
    assert!(
        written.to_string().matches("]0;x").count() > 20,
        "{written}"
    );
    let read: CareenHost = serde_json::from_value(written).unwrap();
    let shown = format!("{:?}", read.status.unwrap());
    assert!(shown.matches("]0;x").count() > 20, "{shown}");
    assert!(
        !shown.contains("\\u{") && !shown.contains('\u{202e}'),
        "{shown}"
    );
}
