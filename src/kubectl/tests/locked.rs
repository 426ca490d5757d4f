//! What is said about the lock of the control plane, by what the Node of its holder says.
#![allow(clippy::unwrap_used)]

mod scene;

use kubectl::api::{Lease, Node};
use kubectl::diagnose::lock::explain;
use kubectl::lock::{LockView, Seen};
use kubectl::render::lock::{Done, LockReport, line};
use kubectl::render::{self, Look};
use scene::*;
use serde_json::{Value, json};
use upgrade::names;

/// A lock that was taken 7500 seconds ago.
fn lock(holder: &str) -> Option<LockView> {
    let spec = json!({ "holderIdentity": holder, "acquireTime": "2025-11-22T06:21:40.000000Z" });
    let metadata = json!({ "name": "careen-control-plane", "uid": "u", "resourceVersion": "5" });
    let lease = json!({ "metadata": metadata, "spec": spec });
    LockView::of(serde_json::from_value::<Lease>(lease).unwrap())
}

/// A Node with this status of Careen's, and this status of the condition Ready.
fn node(status: Value, ready: &str) -> Option<Node> {
    let metadata = json!({ "name": "cp-2", "annotations": { names::STATUS: status.to_string() } });
    let condition = json!({
        "type": "Ready", "status": ready, "lastTransitionTime": "2025-11-22T08:20:00Z",
    });
    let node = json!({ "metadata": metadata, "status": { "conditions": [condition] } });
    Some(serde_json::from_value(node).unwrap())
}

fn status(id: &str, phase: &str) -> Value {
    json!({ "id": id, "phase": phase, "percent": 60, "tries": 1, "reached": [] })
}

fn seen(holder: &str, node: Option<Node>) -> Seen {
    Seen::of(lock(holder).unwrap(), node)
}

fn text(seen: &Seen) -> String {
    render::explain::explain(&explain(seen, NOW), Look::default())
}

fn data(seen: &Seen) -> Value {
    let report = LockReport::of(Some(seen), explain(seen, NOW), Done::Declined);
    serde_json::to_value(report).unwrap()
}

#[test]
fn a_lock_is_shown_with_the_state_of_its_holder() {
    let node = node(status("7", "Trial"), "False");
    golden("locked.txt", &text(&seen("cp-2/7", node)));
}

#[test]
fn the_warning_comes_first_whatever_the_node_says() {
    let nodes = [
        None,
        node(status("7", "Failed"), "True"),
        node(status("7", "Halted"), "True"),
        node(json!({}), "Unknown"),
    ];
    for node in nodes {
        let told = explain(&seen("cp-2/7", node), NOW);
        let first = &told.findings[0].what;
        assert!(first.starts_with("do not unlock while the member of etcd on cp-2 is away"));
    }
}

#[test]
fn a_holder_that_is_over_needs_no_unlock() {
    for (node, says, over) in [
        (None, "does not exist any more", "nodeGone"),
        (
            node(status("7", "Upgraded"), "True"),
            "says that this upgrade has ended",
            "ended",
        ),
        (
            node(status("8", "Trial"), "True"),
            "has begun another upgrade",
            "anotherUpgrade",
        ),
    ] {
        let seen = seen("cp-2/7", node);
        let text = text(&seen);
        let words = format!("takes this lock over by itself: the Node cp-2 {says}");
        assert!(text.contains(&words), "{text}");
        assert!(text.contains("-> nobody has to unlock"), "{text}");
        assert_eq!(data(&seen)["over"], over);
    }
}

#[test]
fn a_holder_that_is_not_over_keeps_its_lock() {
    for (node, says) in [
        (
            node(status("7", "Trial"), "True"),
            "is under way on cp-2, which releases the lock itself",
        ),
        (
            node(status("7", "Trial"), "Unknown"),
            "which is not Ready: its member may be away",
        ),
        (
            node(status("7", "Halted"), "True"),
            "has halted on cp-2: it keeps the lock",
        ),
        (node(json!({}), "True"), "may have just come back"),
    ] {
        let seen = seen("cp-2/7", node);
        let text = text(&seen);
        assert!(text.contains(says), "{text}");
        assert!(!text.contains("nobody has to unlock"), "{text}");
        assert_eq!(data(&seen)["over"], Value::Null);
    }
}

#[test]
fn a_lock_of_a_person_names_no_node() {
    let seen = seen("alice\u{1b}[2J", None);
    let text = text(&seen);
    assert!(text.contains("alice [2J holds the lock"), "{text}");
    assert!(text.contains("ask the person who wrote it"), "{text}");
    let data = data(&seen);
    assert_eq!((&data["node"], &data["over"]), (&Value::Null, &Value::Null));
}

#[test]
fn programs_get_the_phase_of_this_upgrade_alone() {
    let ours = data(&seen("cp-2/7", node(status("7", "Trial"), "False")));
    assert_eq!(
        (&ours["phase"], &ours["ready"]),
        (&json!("Trial"), &json!(false))
    );
    assert_eq!(ours["lockedAt"], NOW - 7500);
    assert_eq!((&ours["node"], &ours["id"]), (&json!("cp-2"), &json!("7")));
    let other = data(&seen("cp-2/7", node(status("8", "Trial"), "True")));
    assert_eq!(other["phase"], Value::Null);
}

#[test]
fn a_lease_without_a_holder_is_no_lock() {
    assert_eq!(lock(""), None);
}

#[test]
fn status_has_one_line_about_the_lock() {
    let lock = lock("cp-2/7").unwrap();
    let expected = "control plane: locked by cp-2/7 for 2h05m\n";
    assert_eq!(line(&lock, NOW, Look::default()), expected);
}
