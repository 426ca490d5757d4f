//! Cordon with our own mark, and its undoing. A cordon without this upgrade's mark is somebody else's and is never touched: a
//! mark outlives `kubectl uncordon`, so a former upgrade's may stand over a person's cordon.

use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use upgrade::{UpgradeId, names};

use crate::cluster::objects::Node;
use crate::cluster::{ApiError, limited};

/// How often a change that met another writer is made anew. The kubelet writes its Node every few seconds at most.
const CONFLICTS: u32 = 10;

/// Makes the node unschedulable and marks that as ours, in one write; a foreign cordon stays foreign.
///
/// # Errors
/// When the API server is away or refuses.
pub async fn cordon(nodes: &Api<Node>, name: &str, id: &UpgradeId) -> Result<(), ApiError> {
    change(nodes, name, |node| cordoned(node, id)).await
}

/// Takes this upgrade's own cordon off, and the mark with it.
///
/// # Errors
/// When the API server is away or refuses.
pub async fn release(nodes: &Api<Node>, name: &str, id: &UpgradeId) -> Result<(), ApiError> {
    change(nodes, name, |node| released(node, id)).await
}

/// What makes the node ours to cordon; nothing when it is cordoned, by whomever.
fn cordoned(node: &Node, id: &UpgradeId) -> Option<Value> {
    (!is_cordoned(node)).then(|| body(true, json!(id.as_str())))
}

/// What takes our cordon off; nothing when the mark is not ours.
fn released(node: &Node, id: &UpgradeId) -> Option<Value> {
    let mark = node.annotations().get(names::CORDONED_BY)?;
    (mark == id.as_str()).then(|| body(false, Value::Null))
}

fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().is_some_and(|spec| spec.unschedulable)
}

fn body(unschedulable: bool, mark: Value) -> Value {
    json!({
        "metadata": { "annotations": { names::CORDONED_BY: mark } },
        "spec": { "unschedulable": unschedulable },
    })
}

/// Reads, changes and writes on the condition that nobody wrote in between: else a person's cordon, set just then, would
/// become ours and be lifted at the end.
async fn change(
    nodes: &Api<Node>,
    name: &str,
    wanted: impl Fn(&Node) -> Option<Value>,
) -> Result<(), ApiError> {
    for _ in 0..CONFLICTS {
        let node = limited(nodes.get(name)).await?;
        let Some(mut body) = wanted(&node) else {
            return Ok(());
        };
        body["metadata"]["resourceVersion"] = json!(node.metadata.resource_version);
        match limited(nodes.patch(name, &PatchParams::default(), &Patch::Merge(&body))).await {
            Err(ApiError::Conflict) => {}
            Err(other) => return Err(other),
            Ok(_) => return Ok(()),
        }
    }
    Err(ApiError::Conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_schedulable_node_is_cordoned_and_marked_whatever_mark_was_left_there() {
        for mark in [None, Some(FORMER), Some(OURS)] {
            let wanted = cordoned(&node(false, mark), &ours());
            assert_eq!(wanted, Some(body(true, json!(OURS))), "{mark:?}");
        }
    }

    #[test]
    fn a_cordon_that_is_there_is_left_as_it_is() {
        for mark in [None, Some(FORMER), Some(OURS)] {
            assert_eq!(cordoned(&node(true, mark), &ours()), None, "{mark:?}");
        }
    }

    #[test]
    fn only_this_upgrades_cordon_is_taken_off() {
        let off = Some(body(false, Value::Null));
        assert_eq!(released(&node(true, Some(OURS)), &ours()), off);
        for mark in [None, Some(FORMER)] {
            assert_eq!(released(&node(true, mark), &ours()), None, "{mark:?}");
        }
    }
}
