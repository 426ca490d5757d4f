//! The one place that writes a Node.

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use upgrade::names;

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

/// All together, so that no reader sees half a request. With no soak, which is not ours to ask for: the policy has one, and what a former
/// request has left would hold ours up for as long as it says, or have it refused where it is malformed.
fn annotations(what: &NodeWrite) -> Value {
    match what {
        NodeWrite::Request { id, image, version } => json!({
            names::REQUEST: names::REQUEST_SCHEDULED,
            names::IMAGE: image.to_string(),
            names::KUBERNETES_VERSION: version,
            names::UPGRADE_ID: id.as_str(),
            names::SOAK: null,
        }),
        NodeWrite::Withdraw => json!({
            names::REQUEST: null,
            names::IMAGE: null,
            names::KUBERNETES_VERSION: null,
            names::UPGRADE_ID: null,
            names::SOAK: null,
        }),
    }
}
