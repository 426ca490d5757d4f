//! The Nodes of prepared hosts that no CareenMachine has, for example after a backup was restored:
//! each is marked, and the mark goes when a machine has the Node again. No Node is ever deleted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use infrastructure::{HostNode, NodeAct, look_at_node};
use requests::NodeFacts;
use tracing::{info, warn};

use super::work::Provision;
use crate::clock::now;
use crate::clusters::ClusterState;
use crate::machines::Key;
use crate::writes::{WriteError, mark_node};

/// How often all Nodes are looked at.
const EACH: Duration = Duration::from_secs(15);

/// How the provider id of each Node of a prepared host begins.
const SCHEME: &str = "careen://";

/// Since when Nodes are seen without a machine, by their cluster and UID. It is not kept while this
/// process does not lead, so that nothing counts that was not seen.
type Since = HashMap<(Key, String), i64>;

/// How many clusters are looked at side by side.
const SIDE_BY_SIDE: usize = 8;

/// A Node of a prepared host.
struct Seen {
    node: Arc<NodeFacts>,
    /// A machine has it.
    claimed: bool,
    marked: bool,
    /// Since when it is seen without a machine, in seconds since 1970.
    at: i64,
}

impl Provision {
    /// Marks for ever.
    pub async fn mark_nodes(self: Arc<Self>) {
        let mut since = Since::new();
        loop {
            tokio::time::sleep(EACH).await;
            if self.is_ready() {
                since = self.look_at_nodes(since).await;
            } else {
                since.clear();
            }
        }
    }

    async fn look_at_nodes(&self, before: Since) -> Since {
        let (mut since, mut marked, mut looks) = (Since::new(), 0, Vec::new());
        for cluster in self.world.machines.clusters() {
            let state = self.world.clusters.get(&cluster);
            if state.link().is_err() {
                continue;
            }
            let seen = self.seen_in(&cluster, &state, &before, &mut since);
            marked += i64::try_from(seen.iter().filter(|one| one.marked).count()).unwrap_or(0);
            looks.push(self.mark_in_cluster(cluster, state, seen));
        }
        futures::stream::iter(looks)
            .for_each_concurrent(SIDE_BY_SIDE, |look| look)
            .await;
        self.world.metrics.hosts().show_unmanaged(marked);
        since
    }

    /// The Nodes of prepared hosts in a cluster. Notes since when those without a machine are seen.
    fn seen_in(
        &self,
        cluster: &Key,
        state: &ClusterState,
        before: &Since,
        since: &mut Since,
    ) -> Vec<Seen> {
        let claims = self.inventory.claims(&cluster.namespace);
        let prefix = format!("{SCHEME}{}/", cluster.namespace);
        let seen = |node: Arc<NodeFacts>| {
            let claimed = node
                .provider_id
                .as_ref()
                .is_some_and(|id| claims.contains(id));
            let key = (cluster.clone(), node.uid.clone());
            let at = before.get(&key).copied().unwrap_or_else(now);
            if !claimed {
                since.insert(key, at);
            }
            let marked = state.is_marked(&node.name);
            Seen {
                node,
                claimed,
                marked,
                at,
            }
        };
        let nodes = state.which(|node| is_of(node, &prefix));
        nodes.into_iter().map(seen).collect()
    }

    /// A server that answers slowly delays only the marks of its own Nodes. The next look goes on.
    async fn mark_in_cluster(&self, cluster: Key, state: Arc<ClusterState>, seen: Vec<Seen>) {
        let all = async {
            for one in &seen {
                self.look_at_node(&cluster, &state, one).await;
            }
        };
        if tokio::time::timeout(EACH, all).await.is_err() {
            warn!(%cluster, "marking Nodes takes longer than {EACH:?}; the next look continues");
        }
    }

    async fn look_at_node(&self, cluster: &Key, state: &ClusterState, seen: &Seen) {
        let facts = self.world.machines.cluster(cluster);
        let known = HostNode {
            claimed: seen.claimed,
            marked: seen.marked,
            // While the server was away, nobody could see a machine get it.
            seconds: now().saturating_sub(seen.at.max(state.seen_since())),
            paused: facts.is_none_or(|facts| facts.paused),
        };
        if let Some(act) = look_at_node(known, &self.policy) {
            self.mark(cluster, state, &seen.node, act).await;
        }
    }

    async fn mark(&self, cluster: &Key, state: &ClusterState, node: &NodeFacts, act: NodeAct) {
        let there = act == NodeAct::Mark;
        let Ok(link) = state.link() else { return };
        match mark_node(link.client, node, there).await {
            Ok(after) => {
                info!(%cluster, node = node.name, marked = there, "a Node that no CareenMachine has");
                state.mark(&after.name, there);
                state.renew(after);
            }
            Err(error) => {
                self.world.metrics.failed(error.class());
                if matches!(error, WriteError::Away(_)) {
                    state.suspect();
                }
                warn!(%cluster, node = node.name, "cannot mark the Node: {error}; retried in {EACH:?}");
            }
        }
    }
}

fn is_of(node: &NodeFacts, prefix: &str) -> bool {
    let id = node.provider_id.as_ref();
    id.is_some_and(|id| id.starts_with(prefix))
}
