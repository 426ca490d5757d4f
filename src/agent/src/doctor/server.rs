//! The API server, asked as the agent asks it.

use super::Finding;
use crate::cluster::Cluster;

/// It answers, and knows this credential as a node's. The one check that needs the network; it changes nothing there.
pub async fn server(cluster: &Cluster) -> Finding {
    const NAME: &str = "api-server";
    let asked = async {
        Ok::<_, crate::cluster::ApiError>((cluster.node_name().await?, cluster.version().await?))
    };
    match asked.await {
        Ok((node, version)) => {
            Finding::ok(NAME, format!("{version}, which knows this node as {node}"))
        }
        Err(error) => Finding::bad(
            NAME,
            error.to_string(),
            "look at the network, and at the server in kubelet.conf",
        ),
    }
}
