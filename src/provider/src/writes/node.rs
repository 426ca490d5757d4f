//! The only module that writes a Node.

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams};
use requests::{NodeFacts, onto};
use serde_json::{Value, json};
use upgrade::RawRequest;
use upgrade::target::request;

use super::error::{WriteError, limited};
use crate::api;
use crate::clusters;
use crate::engine::NodeWrite;
use crate::kinds::UNMANAGED;

/// Writes a decision to the Node that it is about. Returns the Node after the write.
///
/// # Errors
/// See [`WriteError`].
pub async fn write(
    client: Client,
    node: &NodeFacts,
    what: &NodeWrite,
) -> Result<NodeFacts, WriteError> {
    let body = onto(&node.uid, &node.resource_version, annotations(what));
    patch(client, node, &json!(body)).await
}

/// Cordons a Node, if nobody has changed it since it was seen. Returns the Node after the write.
///
/// # Errors
/// See [`WriteError`].
pub async fn cordon(client: Client, node: &NodeFacts) -> Result<NodeFacts, WriteError> {
    let of = json!({ "uid": node.uid, "resourceVersion": node.resource_version });
    let body = json!({ "metadata": of, "spec": { "unschedulable": true } });
    patch(client, node, &body).await
}

/// Marks a Node as one that no machine has, or removes the mark. Returns the Node after the write.
///
/// # Errors
/// See [`WriteError`].
pub async fn mark(client: Client, node: &NodeFacts, there: bool) -> Result<NodeFacts, WriteError> {
    let since = there.then(|| Timestamp::now().to_string());
    let body = onto(
        &node.uid,
        &node.resource_version,
        json!({ UNMANAGED: since }),
    );
    patch(client, node, &body).await
}

async fn patch(client: Client, node: &NodeFacts, body: &Value) -> Result<NodeFacts, WriteError> {
    let params = PatchParams {
        field_manager: Some(crate::names::MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let nodes = api::nodes(client);
    let after = limited(nodes.patch(&node.name, &params, &Patch::Merge(body))).await?;
    Ok(clusters::facts(after))
}

/// Without a soak: the node's policy defines one, and the provider's request adds none.
fn annotations(what: &NodeWrite) -> request::Patch {
    match what {
        NodeWrite::Request { id, image, version } => request::to_patch(&RawRequest {
            kubernetes: Some(version.clone()),
            id: Some(id.to_string()),
            ..RawRequest::scheduled(image.to_string())
        }),
        NodeWrite::Withdraw => request::clear_patch(),
    }
}
