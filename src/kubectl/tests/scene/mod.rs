//! Nodes as the API server gives them, and texts held against `tests/golden`.
#![allow(dead_code)] // Each test file uses its part.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use kubectl::diagnose;
use kubectl::expected::Expected;
use kubectl::render::{Look, explain};
use kubectl::request::{Aim, Errand, Turn, Wish};
use kubectl::view::NodeView;
use serde_json::{Value, json};
use upgrade::names;

/// 2025-11-22 08:26:40Z.
pub const NOW: u64 = 1_763_800_000;

pub const NEW: &str =
    "ostree:site:edge/stable@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A Ready node of which nothing was ever asked, with this change.
pub fn node(name: &str, change: Value) -> NodeView {
    let mut node = json!({
        "metadata": { "name": name, "uid": "u", "resourceVersion": "7", "annotations": {} },
        "spec": {},
        "status": {
            "nodeInfo": { "kubeletVersion": "v1.35.4" },
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    });
    merge(&mut node, change);
    let node: kubectl::api::Node = serde_json::from_value(node).unwrap();
    node.into()
}

/// One with these annotations.
pub fn annotated(name: &str, annotations: Value) -> NodeView {
    node(name, json!({ "metadata": { "annotations": annotations } }))
}

/// The request for the new image, with this id.
pub fn request(id: &str) -> Value {
    json!({ names::REQUEST: names::REQUEST_SCHEDULED, names::IMAGE: NEW, names::UPGRADE_ID: id })
}

/// A node that answered request `k-1` so, with these details.
pub fn answered(name: &str, answer: &str, details: Value) -> NodeView {
    annotated(name, answer_to("k-1", answer, details))
}

/// The annotations of a request and its answer.
pub fn answer_to(id: &str, answer: &str, details: Value) -> Value {
    let mut status = json!({
        "id": id, "phase": answer, "percent": 100, "tries": 1, "toVersion": "v1.36.3",
        "reached": [reached("Accepted", 200), reached(details["phase"].as_str().unwrap_or(answer), 20)],
    });
    merge(&mut status, details);
    let mut annotations = request(id);
    merge(
        &mut annotations,
        json!({ names::ANSWER: answer, names::STATUS: status.to_string() }),
    );
    annotations
}

/// A phase that was reached so many seconds ago.
pub fn reached(phase: &str, ago: u64) -> Value {
    json!({ "phase": phase, "at": NOW - ago })
}

/// A node at work.
pub fn working(name: &str, phase: &str, percent: u8) -> NodeView {
    answered(
        name,
        "InProgress",
        json!({ "phase": phase, "percent": percent }),
    )
}

/// A node whose last upgrade failed.
pub fn failed(name: &str, phase: &str, code: &str, reason: &str) -> NodeView {
    answered(
        name,
        "Failed",
        json!({ "phase": phase, "code": code, "reason": reason }),
    )
}

/// A history of good upgrades that lasted so long.
pub fn past(seconds: &[u64]) -> Value {
    let one = |seconds: &u64| json!({ "answer": "Upgraded", "image": NEW, "began": NOW - 86_400, "ended": NOW - 86_400 + seconds, "tries": 1 });
    json!({ names::HISTORY: Value::from(seconds.iter().map(one).collect::<Vec<_>>()).to_string() })
}

/// Merges JSON objects, the second over the first.
pub fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Holds a text against its file. `CAREEN_BLESS=1` writes it again.
pub fn golden(name: &str, text: &str) {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("tests/golden");
    let path = folder.join(name);
    if std::env::var_os("CAREEN_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, text,
        "tests/golden/{name}: CAREEN_BLESS=1 writes it again"
    );
}

/// What `explain` says of a node.
pub fn told(node: &NodeView) -> String {
    let teacher = annotated("teacher", past(&[90]));
    let expected = Expected::learn([&teacher]);
    explain::explain(&diagnose::explain(node, NOW, &expected), Look::default())
}

/// That it says all of this.
pub fn says(node: &NodeView, words: &[&str]) {
    let text = told(node);
    for word in words {
        assert!(text.contains(word), "not said: {word:?} in\n{text}");
    }
}

/// For the new image.
pub fn wish() -> Wish {
    Wish {
        image: NEW.to_owned(),
        kubernetes: None,
        despite_failure: false,
        soak: None,
    }
}

/// For another.
pub fn other_image() -> Wish {
    Wish {
        image: "ostree:site:edge/next".to_owned(),
        ..wish()
    }
}

/// What `retry` does about a node that was named and seen `first`, and is so by now.
pub fn retry_of(first: &NodeView, node: &NodeView) -> (Turn, Option<Wish>) {
    let errand = Errand {
        aim: Aim::Retry,
        soak: None,
        named: true,
    };
    errand.decide(first, node)
}

/// Annotations without one of them.
pub fn without(mut annotations: Value, key: &str) -> Value {
    annotations.as_object_mut().unwrap().remove(key);
    annotations
}

/// With another value of it.
pub fn with(mut annotations: Value, key: &str, value: &str) -> Value {
    annotations[key] = json!(value);
    annotations
}
