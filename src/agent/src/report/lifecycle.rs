//! The conditions of the node's lifecycle in a report's patch. Several programs may write them, so
//! Careen changes only those with its own reason, and leaves none when the node is back.

use client::Condition;
use serde_json::{Value, json};
use upgrade::names;
use upgrade::report::Lifecycle;

use crate::cluster::seen::NodeSeen;

/// What the patch changes of them, at this time.
pub fn changes(lifecycle: Lifecycle, node: &NodeSeen, now: &str) -> Vec<Value> {
    let change = |kind: &&'static str| {
        let there = there(node, kind);
        if lifecycle.conditions().contains(kind) {
            (!is_theirs(there)).then(|| set(kind, there, now))
        } else {
            is_ours(there).then(|| json!({ "type": kind, "$patch": "delete" }))
        }
    };
    names::LIFECYCLE.iter().filter_map(change).collect()
}

/// Whether the Node already shows them.
pub fn are_there(lifecycle: Lifecycle, node: &NodeSeen) -> bool {
    names::LIFECYCLE.iter().all(|kind| {
        let there = there(node, kind);
        if lifecycle.conditions().contains(kind) {
            there.is_some_and(is_true)
        } else {
            !is_ours(there)
        }
    })
}

fn there<'a>(node: &'a NodeSeen, kind: &str) -> Option<&'a Condition> {
    node.lifecycle.iter().find(|there| there.kind == kind)
}

fn is_true(there: &Condition) -> bool {
    there.status == "True"
}

fn is_ours(there: Option<&Condition>) -> bool {
    there.is_some_and(|there| there.reason == names::LIFECYCLE_REASON)
}

/// Whether somebody else says the same.
fn is_theirs(there: Option<&Condition>) -> bool {
    there.is_some_and(is_true) && !is_ours(there)
}

fn set(kind: &str, there: Option<&Condition>, now: &str) -> Value {
    let unchanged = there.filter(|there| is_true(there));
    let since = unchanged.and_then(|there| there.last_transition_time.clone());
    json!({
        "type": kind,
        "status": "True",
        "reason": names::LIFECYCLE_REASON,
        "message": "Careen upgrades this node in place",
        "lastHeartbeatTime": now,
        "lastTransitionTime": since.unwrap_or_else(|| now.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::Node;

    const NOW: &str = "2026-11-28T12:00:00Z";

    /// A Node with these conditions: type, status, reason.
    fn showing(conditions: &[[&str; 3]]) -> NodeSeen {
        let condition = |[kind, status, reason]: &[&str; 3]| json!({ "type": kind, "status": status, "reason": reason });
        let conditions: Vec<_> = conditions.iter().map(condition).collect();
        let node = json!({ "metadata": { "name": "n" }, "status": { "conditions": conditions } });
        serde_json::from_value::<Node>(node).unwrap().into()
    }

    /// Type, and status or deletion.
    fn told(changes: &[Value]) -> Vec<(&str, &str)> {
        let what = |change: &Value| change["status"].is_null();
        let told = changes.iter();
        told.map(|change| {
            (
                change["type"].as_str().unwrap(),
                if what(change) { "gone" } else { "True" },
            )
        })
        .collect()
    }

    #[test]
    fn a_drain_is_told_and_its_end_replaces_it() {
        let planned = changes(Lifecycle::Planned, &showing(&[]), NOW);
        assert_eq!(told(&planned), [(names::MAINTENANCE_PLANNED, "True")]);
        let ours = names::LIFECYCLE_REASON;
        let draining = showing(&[
            [names::MAINTENANCE_PLANNED, "True", ours],
            [names::DRAIN_IN_PROGRESS, "True", ours],
        ]);
        assert!(are_there(Lifecycle::Draining, &draining));
        assert!(!are_there(Lifecycle::Drained, &draining));
        let drained = changes(Lifecycle::Drained, &draining, NOW);
        let expected = [
            (names::MAINTENANCE_PLANNED, "gone"),
            (names::DRAIN_IN_PROGRESS, "gone"),
            (names::DRAINED, "True"),
            (names::MAINTENANCE_IN_PROGRESS, "True"),
        ];
        assert_eq!(told(&drained), expected);
    }

    #[test]
    fn conditions_of_somebody_else_are_not_changed() {
        let theirs = showing(&[
            [names::MAINTENANCE_IN_PROGRESS, "True", "AdminRequested"],
            [names::DRAINED, "False", "AdminRequested"],
        ]);
        assert!(are_there(Lifecycle::Serving, &theirs));
        assert_eq!(
            changes(Lifecycle::Serving, &theirs, NOW),
            Vec::<Value>::new()
        );
        let drained = changes(Lifecycle::Drained, &theirs, NOW);
        assert_eq!(told(&drained), [(names::DRAINED, "True")]);
    }

    #[test]
    fn no_condition_of_ours_stays_when_the_node_serves() {
        for kind in names::LIFECYCLE {
            let left = showing(&[[kind, "True", names::LIFECYCLE_REASON]]);
            assert!(!are_there(Lifecycle::Serving, &left));
            let gone = changes(Lifecycle::Serving, &left, NOW);
            assert_eq!(told(&gone), [(kind, "gone")]);
        }
    }
}
