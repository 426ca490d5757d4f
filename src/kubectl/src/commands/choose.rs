//! Reads the chosen nodes.

use futures::{StreamExt, TryStreamExt};

use super::act::AT_ONCE;
use crate::api::Cluster;
use crate::cli::Choice;
use crate::expected::Expected;
use crate::failure::Failure;
use crate::view::NodeView;

/// This many nodes are enough to learn how long upgrades take. More would cost the server more than
/// they are worth.
const SAMPLE: u32 = 100;

/// Reads the nodes.
///
/// # Errors
/// [`Failure::Missing`] if a named node does not exist, or no node matches.
pub async fn choose(cluster: &Cluster, choice: &Choice) -> Result<Vec<NodeView>, Failure> {
    let nodes = match choice {
        Choice::Named(names) => return named(cluster, names).await,
        Choice::Selected(labels) => cluster.list(Some(labels)).await?,
        Choice::All => cluster.list(None).await?,
    };
    if nodes.is_empty() {
        return Err(Failure::Missing(match choice {
            Choice::Selected(labels) => format!("no node has the labels {labels:?}"),
            Choice::Named(_) | Choice::All => "the cluster has no nodes".to_owned(),
        }));
    }
    let mut views: Vec<NodeView> = nodes.into_iter().map(NodeView::from).collect();
    views.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(views)
}

async fn named(cluster: &Cluster, names: &[String]) -> Result<Vec<NodeView>, Failure> {
    let read = names.iter().map(|name| cluster.node(name));
    let nodes = futures::stream::iter(read).buffered(AT_ONCE);
    nodes.map_ok(NodeView::from).try_collect().await
}

/// The statistics of past upgrades, from all nodes or some of them. A user who may read only one
/// node gets only its statistics.
pub async fn learn(cluster: &Cluster, nodes: &[NodeView], choice: &Choice) -> Expected {
    if *choice == Choice::All {
        return Expected::learn(nodes);
    }
    let sample = cluster.some(SAMPLE).await.unwrap_or_default();
    let sample: Vec<NodeView> = sample.into_iter().map(NodeView::from).collect();
    let new = |node: &&NodeView| sample.iter().all(|known| known.name != node.name);
    Expected::learn(sample.iter().chain(nodes.iter().filter(new)))
}
