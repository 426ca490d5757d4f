//! Sets and removes a cordon with Careen's own mark. A cordon without this upgrade's mark belongs
//! to somebody else, and the agent never touches it. Careen's mark survives `kubectl uncordon`.
//! From then on it marks nothing, and the next cordon belongs to the person who sets it.

use client::Node;
use json_patch::Patch;
use kube::api::Api;
use serde_json::json;
use upgrade::UpgradeId;

use super::change::{add, change, field_at, set_with_mark, take_back};
use super::shield;
use crate::cluster::ApiError;
use crate::cluster::marks::{CORDON, Mark};

/// Makes the node unschedulable, marks the cordon as Careen's and raises these shields, in one
/// write. A foreign cordon stays foreign.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn cordon(
    nodes: &Api<Node>,
    name: &str,
    id: &UpgradeId,
    shields: &[Mark],
) -> Result<(), ApiError> {
    let taken = |node: &Node| {
        let cordon = cordoned(node, id).map_or_else(Vec::new, |cordon| cordon.0);
        let all: Vec<_> = cordon
            .into_iter()
            .chain(shield::raised(node, id, shields))
            .collect();
        (!all.is_empty()).then_some(Patch(all))
    };
    change(nodes, name, taken).await
}

/// Removes this upgrade's own cordon and its mark.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn release(nodes: &Api<Node>, name: &str, id: &UpgradeId) -> Result<(), ApiError> {
    change(nodes, name, |node| released(node, id)).await
}

/// The change that cordons the node, or `None` if the node is already cordoned, by any client.
fn cordoned(node: &Node, id: &UpgradeId) -> Option<Patch> {
    set_with_mark(&CORDON, node, id, json!(true))
}

/// The change that removes Careen's cordon.
fn released(node: &Node, id: &UpgradeId) -> Option<Patch> {
    take_back(&CORDON, node, id, add(field_at(&CORDON), json!(false)))
}

#[cfg(test)]
mod tests {
    use super::super::change::unmarked;
    use super::*;
    use serde_json::Value;
    use upgrade::names;

    const OURS: &str = "r2-bbbbbbbbbbbb";
    const FORMER: &str = "r1-aaaaaaaaaaaa";

    fn node(unschedulable: bool, mark: Option<&str>) -> Node {
        let annotations = mark.map(|mark| json!({ names::CORDONED_BY: mark }));
        let node = json!({
            "metadata": { "name": "n", "annotations": annotations },
            "spec": { "unschedulable": unschedulable },
        });
        serde_json::from_value(node).unwrap()
    }

    fn ours() -> UpgradeId {
        OURS.parse().unwrap()
    }

    /// The Node after a server applied a change, or `None` if a test in the change fails.
    fn after(change: &Patch, node: &Node) -> Option<Value> {
        let mut node = serde_json::to_value(node).unwrap();
        // A server omits false, and takes null for an absent field. This library does not know the
        // latter, nor does RFC 6902.
        if node["spec"]["unschedulable"] == false {
            node["spec"]["unschedulable"] = Value::Null;
        }
        json_patch::patch(&mut node, change).ok()?;
        let mark = node["metadata"]["annotations"][names::CORDONED_BY].clone();
        Some(json!([node["spec"]["unschedulable"], mark]))
    }

    #[test]
    fn cordon_replaces_any_mark_left_on_a_schedulable_node() {
        for mark in [Some("other"), Some(FORMER), Some(OURS)] {
            let node = node(false, mark);
            let change = cordoned(&node, &ours()).unwrap();
            assert_eq!(after(&change, &node), Some(json!([true, OURS])), "{mark:?}");
        }
    }

    #[test]
    fn a_cordon_that_is_there_is_left_as_it_is() {
        for mark in [None, Some(FORMER), Some(OURS)] {
            assert_eq!(cordoned(&node(true, mark), &ours()), None, "{mark:?}");
        }
    }

    #[test]
    fn a_cordon_that_somebody_sets_just_then_does_not_become_ours() {
        let change = cordoned(&node(false, Some(FORMER)), &ours()).unwrap();
        assert_eq!(after(&change, &node(true, Some(FORMER))), None);
    }

    /// The Node with this manager for the cordon, and an agent's for the mark.
    fn set_by(manager: &str, mut node: Node) -> Node {
        let entry = json!([
            { "manager": manager, "fieldsV1": { "f:spec": { "f:unschedulable": {} } } },
            { "manager": "careen-agent", "fieldsV1": { "f:metadata": { "f:annotations": { format!("f:{}", names::CORDONED_BY): {} } } } },
        ]);
        node.metadata.managed_fields = serde_json::from_value(entry).unwrap();
        node
    }

    #[test]
    fn a_persons_cordon_over_our_mark_stays_and_the_mark_goes() {
        let theirs = set_by("kubectl", node(true, Some(OURS)));
        let change = released(&theirs, &ours()).unwrap();
        assert_eq!(after(&change, &theirs), Some(json!([true, null])));
    }

    #[test]
    fn a_mark_without_a_cordon_goes_alone() {
        let uncordoned = node(false, Some(OURS));
        let change = released(&uncordoned, &ours()).unwrap();
        assert_eq!(after(&change, &uncordoned), Some(json!([null, null])));
        let cordoned_since = node(true, Some(OURS));
        assert_eq!(after(&change, &cordoned_since), None, "decided again");
    }

    #[test]
    fn every_upgrades_mark_that_marks_nothing_is_left() {
        for mark in [OURS, FORMER] {
            let left = Patch(unmarked(&CORDON, &node(false, Some(mark))));
            assert_eq!(
                after(&left, &node(false, Some(mark))),
                Some(json!([null, null]))
            );
            assert!(unmarked(&CORDON, &node(true, Some(mark))).is_empty());
        }
        assert!(unmarked(&CORDON, &node(false, None)).is_empty());
    }

    #[test]
    fn only_this_upgrades_cordon_is_taken_off() {
        let cordoned = node(true, Some(OURS));
        let change = released(&cordoned, &ours()).unwrap();
        assert_eq!(after(&change, &cordoned), Some(json!([false, null])));
        for mark in [None, Some(FORMER)] {
            let foreign = node(true, mark);
            assert_eq!(released(&foreign, &ours()), None, "{mark:?}");
            assert_eq!(
                after(&change, &foreign),
                None,
                "one that became foreign just then"
            );
        }
    }
}
