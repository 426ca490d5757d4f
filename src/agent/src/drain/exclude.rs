//! Excludes the node from external load balancers with Careen's own mark, and undoes that. A label
//! without this upgrade's mark belongs to somebody else and stays, as a foreign cordon does.
//!
//! It is Kubernetes' own label: cloud controllers and MetalLB remove a node that has it, with any
//! value, from their pools. The kubelet's credential may set it, because NodeRestriction leaves
//! `node.kubernetes.io/` to kubelets.

use client::Node;
use json_patch::Patch;
use kube::api::Api;
use serde_json::json;
use upgrade::UpgradeId;

use super::change::{change, field_at, remove, set_with_mark, take_back};
use crate::cluster::ApiError;
use crate::cluster::marks::EXCLUSION;

/// Sets label and mark in one write. A foreign label stays foreign.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn exclude(nodes: &Api<Node>, name: &str, id: &UpgradeId) -> Result<(), ApiError> {
    change(nodes, name, |node| excluded(node, id)).await
}

/// Removes this upgrade's own label and its mark.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn readmit(nodes: &Api<Node>, name: &str, id: &UpgradeId) -> Result<(), ApiError> {
    change(nodes, name, |node| readmitted(node, id)).await
}

/// The change that sets the label, or `None` if any client already set it.
fn excluded(node: &Node, id: &UpgradeId) -> Option<Patch> {
    set_with_mark(&EXCLUSION, node, id, json!("true"))
}

/// The change that removes Careen's label. A Node has labels: its kubelet sets some when it
/// registers.
fn readmitted(node: &Node, id: &UpgradeId) -> Option<Patch> {
    take_back(&EXCLUSION, node, id, remove(field_at(&EXCLUSION)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::ResourceExt;
    use serde_json::Value;
    use upgrade::names;

    const OURS: &str = "r2-bbbbbbbbbbbb";
    const FORMER: &str = "r1-aaaaaaaaaaaa";

    fn node(label: Option<&str>, mark: Option<&str>) -> Node {
        let mut node = json!({ "metadata": { "name": "n", "labels": {}, "annotations": {} } });
        if let Some(label) = label {
            node["metadata"]["labels"][names::EXCLUDED] = json!(label);
        }
        if let Some(mark) = mark {
            node["metadata"]["annotations"][names::EXCLUDED_BY] = json!(mark);
        }
        serde_json::from_value(node).unwrap()
    }

    fn ours() -> UpgradeId {
        OURS.parse().unwrap()
    }

    /// The Node's label and mark after a server applied a change, or `None` if a test in the change
    /// fails.
    fn after(change: &Patch, node: &Node) -> Option<[Value; 2]> {
        let mut shown =
            json!({ "metadata": { "labels": node.labels(), "annotations": node.annotations() } });
        // A server takes null for an absent field. This library does not know that, nor does RFC
        // 6902.
        if !EXCLUSION.is_set(node) {
            shown["metadata"]["labels"][names::EXCLUDED] = Value::Null;
        }
        json_patch::patch(&mut shown, change).ok()?;
        let label = shown["metadata"]["labels"][names::EXCLUDED].clone();
        let mark = shown["metadata"]["annotations"][names::EXCLUDED_BY].clone();
        Some([label, mark])
    }

    #[test]
    fn exclude_sets_the_label_and_replaces_any_mark_left() {
        for mark in [None, Some(FORMER)] {
            let node = node(None, mark);
            let change = excluded(&node, &ours()).unwrap();
            assert_eq!(after(&change, &node), Some([json!("true"), json!(OURS)]));
        }
    }

    #[test]
    fn a_label_that_is_there_is_left_as_it_is() {
        assert_eq!(excluded(&node(Some("by-hand"), None), &ours()), None);
    }

    #[test]
    fn a_label_that_somebody_sets_just_then_does_not_become_ours() {
        let change = excluded(&node(None, None), &ours()).unwrap();
        assert_eq!(after(&change, &node(Some("by-hand"), None)), None);
    }

    #[test]
    fn only_this_upgrades_label_is_taken_away() {
        let excluded = node(Some("true"), Some(OURS));
        let change = readmitted(&excluded, &ours()).unwrap();
        let gone = Some([Value::Null, Value::Null]);
        assert_eq!(after(&change, &excluded), gone);
        for mark in [None, Some(FORMER)] {
            let foreign = node(Some("true"), mark);
            assert_eq!(readmitted(&foreign, &ours()), None, "{mark:?}");
        }
    }

    #[test]
    fn a_persons_label_over_our_mark_stays_and_the_mark_goes() {
        let mut theirs = node(Some("by-hand"), Some(OURS));
        let label = format!("f:{}", names::EXCLUDED);
        let entry = json!([{ "manager": "kubectl", "fieldsV1": { "f:metadata": { "f:labels": { label: {} } } } }]);
        theirs.metadata.managed_fields = serde_json::from_value(entry).unwrap();
        let change = readmitted(&theirs, &ours()).unwrap();
        let left = Some([json!("by-hand"), Value::Null]);
        assert_eq!(after(&change, &theirs), left);
    }

    #[test]
    fn where_somebody_took_the_label_away_the_mark_goes_too() {
        let node = node(None, Some(OURS));
        let change = readmitted(&node, &ours()).unwrap();
        assert_eq!(after(&change, &node), Some([Value::Null, Value::Null]));
    }
}
