//! The parts of a Node that the agent uses. A Node object is tens of kilobytes; this is a few
//! hundred bytes.

use std::collections::BTreeMap;

use client::{Condition, Node};
use upgrade::observe::Asked;
use upgrade::reason::complaint;
use upgrade::target::request;
use upgrade::{Keys, names};

use super::marks::{CORDON, EXCLUSION, SHIELDS};

/// The annotations of a report.
pub const ANSWERS: [&str; 4] = [
    names::ANSWER,
    names::FAILURE_REASON,
    names::STATUS,
    names::HISTORY,
];

/// This agent's Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    /// Its name.
    pub name: String,
    /// Its UID, for Events.
    pub uid: String,
    /// The request.
    pub asked: Asked,
    /// Its other keys.
    pub keys: Keys,
    /// Whether pods may be scheduled to it.
    pub schedulable: bool,
    /// The upgrade in the mark of the cordon.
    pub cordoned_by: Option<String>,
    /// Whether that mark has no cordon, or somebody else's.
    pub cordon_mark_left: bool,
    /// The upgrade in the mark of the label that excludes the node from load balancers.
    pub excluded_by: Option<String>,
    /// Whether that mark has no label, or somebody else's.
    pub exclusion_mark_left: bool,
    /// Whether the Node has a shield with Careen's mark.
    pub shielded: bool,
    /// Whether the mark of a shield has no shield, or somebody else's.
    pub shield_mark_left: bool,
    /// The request for a plan.
    pub question: Option<String>,
    /// The current answer to a request for a plan.
    pub plan: Option<String>,
    /// Whether the kubelet reports Ready.
    pub ready: bool,
    /// Why it is not, in the kubelet's words.
    pub unready: String,
    /// When the kubelet last reported it, in the API's format.
    pub ready_said: Option<String>,
    /// The boot in which the kubelet last registered.
    pub boot_id: String,
    /// The kubelet's version.
    pub kubelet_version: String,
    /// Careen's current condition.
    pub condition: Option<Condition>,
    /// The current conditions of the node's lifecycle, Careen's and others'.
    pub lifecycle: Vec<Condition>,
    /// Careen's current answers.
    pub answers: BTreeMap<&'static str, String>,
}

impl From<Node> for NodeSeen {
    fn from(node: Node) -> Self {
        let (cordon_mark_left, exclusion_mark_left) =
            (CORDON.is_left(&node), EXCLUSION.is_left(&node));
        let shielded = SHIELDS.iter().any(|mark| mark.is_ours(&node));
        let shield_mark_left = SHIELDS.iter().any(|mark| mark.is_left(&node));
        let deleted = node.metadata.deletion_timestamp.as_ref();
        let deleted = deleted.map(|time| time.0.to_string());
        let annotations = node.metadata.annotations.unwrap_or_default();
        let get = |key: &str| annotations.get(key).cloned();
        let labels = node.metadata.labels.unwrap_or_default();
        let spec = node.spec.unwrap_or_default();
        let status = node.status.unwrap_or_default();
        let ready = status.condition("Ready");
        let own = |key: &'static str| get(key).map(|value| (key, value));
        Self {
            name: node.metadata.name.unwrap_or_default(),
            uid: node.metadata.uid.unwrap_or_default(),
            asked: request::from_annotations(get).map_or(Asked::Nothing, Asked::This),
            keys: Keys::of(&annotations, &labels, &spec.taints())
                .with_conditions(status.said())
                .with_deletion(deleted.as_deref()),
            schedulable: !spec.unschedulable,
            cordoned_by: get(names::CORDONED_BY),
            cordon_mark_left,
            excluded_by: get(names::EXCLUDED_BY),
            exclusion_mark_left,
            shielded,
            shield_mark_left,
            question: get(names::PLAN),
            plan: get(names::PLAN_RESULT),
            ready: ready.is_some_and(|ready| ready.status == "True"),
            unready: ready.map_or_else(String::new, |ready| {
                complaint(&format!("{}: {}", ready.reason, ready.message))
            }),
            ready_said: ready.and_then(|ready| ready.last_heartbeat_time.clone()),
            condition: status.condition(names::CONDITION).cloned(),
            lifecycle: names::LIFECYCLE
                .into_iter()
                .filter_map(|kind| status.condition(kind).cloned())
                .collect(),
            boot_id: status.node_info.boot_id,
            kubelet_version: status.node_info.kubelet_version,
            answers: ANSWERS.into_iter().filter_map(own).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn node_that_is_about_to_go_is_paused() {
        let node = |change: serde_json::Value| -> NodeSeen {
            let mut node = json!({ "metadata": { "name": "n" }, "spec": {} });
            json_patch::merge(&mut node, &change);
            serde_json::from_value::<Node>(node).unwrap().into()
        };
        let taint = json!({ "key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule" });
        let tainted = node(json!({ "spec": { "taints": [taint] } }));
        let why = tainted.keys.pause.unwrap().why();
        assert!(
            why.contains("taint ToBeDeletedByClusterAutoscaler"),
            "{why}"
        );
        let deleted = json!({ "metadata": { "deletionTimestamp": "2026-11-29T04:00:00Z" } });
        let why = node(deleted).keys.pause.unwrap().why();
        assert!(
            why.contains("deletionTimestamp 2026-11-29T04:00:00Z"),
            "{why}"
        );
        assert_eq!(node(json!({})).keys.pause, None);
        let terminates = |status: &str| {
            let condition = json!({ "type": "Terminating", "status": status });
            node(json!({ "status": { "conditions": [condition] } }))
        };
        let why = terminates("True").keys.pause.unwrap().why();
        assert!(why.contains("condition Terminating"), "{why}");
        assert_eq!(terminates("False").keys.pause, None);
        let maintained = |reason: &str| {
            let kind = names::MAINTENANCE_IN_PROGRESS;
            let condition = json!({ "type": kind, "status": "True", "reason": reason });
            node(json!({ "status": { "conditions": [condition] } }))
        };
        let why = maintained("AdminRequested").keys.pause.unwrap().why();
        assert!(why.contains("condition MaintenanceInProgress"), "{why}");
        assert_eq!(maintained(names::LIFECYCLE_REASON).keys.pause, None);
    }
}
