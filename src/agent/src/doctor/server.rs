//! The API server, asked as the agent asks it, and what it says of this Node.

use std::collections::BTreeMap;

use client::{Node, NodeSpec, NodeStatus};
use kube::Api;
use upgrade::reason::complaint;
use upgrade::{Keys, Pause, names};

use super::finding::Finding;
use crate::cluster::{ApiError, Cluster, limited};

const NAME: &str = "api-server";

/// Whether the server answers, and knows this credential as that of an existing Node; and what
/// keeps upgrades from that Node. This is the only check that needs the network, and it changes
/// nothing there.
pub async fn server(cluster: &Cluster) -> Vec<Finding> {
    match ask(cluster).await {
        Ok((told, node)) => std::iter::once(told).chain(kept_out(&node)).collect(),
        Err(finding) => vec![finding],
    }
}

async fn ask(cluster: &Cluster) -> Result<(Finding, Node), Finding> {
    let name = cluster.node_name().await.map_err(no_answer)?;
    let version = cluster.version().await.map_err(no_answer)?;
    match node(cluster, &name).await {
        Ok(node) => {
            let seen = format!("{version}, which knows this node as {name}");
            Ok((Finding::ok(NAME, seen), node))
        }
        Err(ApiError::Missing) => Err(Finding::bad(
            NAME,
            format!("{version}, which has no Node {name}"),
            "check why the kubelet has not registered it: journalctl -u kubelet",
        )),
        Err(error) => Err(no_answer(error)),
    }
}

async fn node(cluster: &Cluster, name: &str) -> Result<Node, ApiError> {
    let nodes: Api<Node> = cluster.nodes().await?;
    limited(nodes.get(name)).await
}

fn no_answer(error: ApiError) -> Finding {
    Finding::bad(
        NAME,
        error.to_string(),
        "check the network, and the server in kubelet.conf",
    )
}

/// A request is refused while the Node is opted out, and does not begin while the Node is paused.
fn kept_out(node: &Node) -> impl Iterator<Item = Finding> {
    let none = BTreeMap::new();
    let annotations = node.metadata.annotations.as_ref().unwrap_or(&none);
    let labels = node.metadata.labels.as_ref().unwrap_or(&none);
    let taints = node.spec.as_ref().map(NodeSpec::taints).unwrap_or_default();
    let deleted = node.metadata.deletion_timestamp.as_ref();
    let deleted = deleted.map(|time| time.0.to_string());
    let status = node.status.as_ref();
    let keys = Keys::of(annotations, labels, &taints)
        .with_conditions(status.into_iter().flat_map(NodeStatus::said))
        .with_deletion(deleted.as_deref());
    let out = keys.opted_out.map(|why| {
        let seen = format!("this node takes no upgrade: {}", complaint(&why));
        let remove = format!("remove {} from the Node", names::OPT_OUT);
        Finding::bad("opt-out", seen, &remove)
    });
    let name = node.metadata.name.clone().unwrap_or_default();
    let paused = keys.pause.map(|pause| {
        let seen = format!(
            "nothing new begins on this node: {}",
            complaint(&pause.why())
        );
        let remove = match &pause {
            Pause::Asked(_) => format!("remove {} from the Node", names::PAUSED),
            Pause::Leaves(leaving) => leaving.advice(),
            Pause::Looks(stray) => stray.removal(&name),
        };
        Finding::warn("paused", seen, &remove)
    });
    out.into_iter().chain(paused)
}
