//! Cordon with our own mark, and its undoing. A cordon without the mark is somebody else's and is never touched.

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
    change(nodes, name, |node| {
        let ours = node.annotations().get(names::CORDONED_BY);
        if is_cordoned(node) && ours.is_none_or(|mark| mark == id.as_str()) {
            return None;
        }
        Some(body(true, json!(id.as_str())))
    })
    .await
}

/// Takes our own cordon off, and the mark with it.
///
/// # Errors
/// When the API server is away or refuses.
pub async fn release(nodes: &Api<Node>, name: &str) -> Result<(), ApiError> {
    change(nodes, name, |node| {
        node.annotations()
            .get(names::CORDONED_BY)
            .map(|_| body(false, Value::Null))
    })
    .await
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
