//! The one place that writes a Node.

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use upgrade::RawRequest;
use upgrade::target::request;

use super::{HandError, limited};
use crate::api;
use crate::clusters;
use crate::engine::{NodeFacts, NodeWrite};

/// Writes what was decided, onto the Node as it was when it was decided: if anybody has changed it since, the API server says so
/// and the decision is taken anew. So two of us, or one of us and a person, never overwrite one another. Returns the Node after it.
///
/// # Errors
/// See [`HandError`].
pub async fn write(
    client: Client,
    node: &NodeFacts,
    what: &NodeWrite,
) -> Result<NodeFacts, HandError> {
    let body = json!({
        "metadata": {
            "uid": node.uid,
            "resourceVersion": node.resource_version,
            "annotations": annotations(what),
        },
    });
    let params = PatchParams {
        field_manager: Some(crate::names::MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let nodes = api::nodes(client);
    let after = limited(nodes.patch(&node.name, &params, &Patch::Merge(body))).await?;
    Ok(clusters::facts(after))
}

/// Without a soak: the node's policy has one, and a request of ours asks for none.
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
