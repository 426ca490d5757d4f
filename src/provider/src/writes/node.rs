//! The only module that writes a Node.

use kube::Client;
use kube::api::{Patch, PatchParams};
use requests::{NodeFacts, onto};
use upgrade::RawRequest;
use upgrade::target::request;

use super::error::{WriteError, limited};
use crate::api;
use crate::clusters;
use crate::engine::NodeWrite;

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
