//! The Node of an orphan, and its drain: nobody else cordons it or asks its pods to leave, because
//! Cluster API drains only the nodes of Machines.

mod evict;
mod list;
mod pods;
mod refusal;
pub(super) mod round;
mod volumes;

use std::sync::Arc;

use infrastructure::{Host, Moving, Node, provider_id};
use requests::NodeFacts;

use super::work::Provision;
use super::{pauses, wire};
use crate::clusters::ClusterState;
use crate::machines::Key;
use crate::writes::{WriteError, cordon};
use round::Round;

/// The Node of an orphan.
pub(super) struct Found {
    /// What it shows.
    pub(super) node: Node,
    /// Where it is, unless there is none.
    place: Option<Place>,
}

/// Where a Node is.
struct Place {
    cluster: Key,
    state: Arc<ClusterState>,
    node: Arc<NodeFacts>,
}

impl Found {
    /// The Node, if a person wants it left alone, and by which key.
    pub(super) fn left_alone(&self) -> Option<String> {
        pauses::hold_of_node(&self.place.as_ref()?.node)
    }
}

impl From<Node> for Found {
    fn from(node: Node) -> Self {
        Self { node, place: None }
    }
}

impl Provision {
    /// The Node with the provider id of a claim. A host may lie about its name, so its name says
    /// nothing. A host that has lost its claim does not know its Cluster, so each one of the
    /// namespace is looked at.
    pub(super) async fn node_of_claim(
        &self,
        space: &str,
        host: &Host,
    ) -> Result<Found, WriteError> {
        let id = host.claim.as_ref().map(|claim| &claim.id);
        let Some(id) = id.or(host.observed.as_ref()) else {
            return Ok(Node::NoCluster.into());
        };
        let id = provider_id(space, &host.name, id);
        let named = host.claim.as_ref().map(|claim| claim.cluster.clone());
        let named = named.filter(|name| !name.is_empty());
        let found: Option<wire::Cluster> = self.read_core(space, "Cluster", named.clone()).await?;
        let clusters = match named {
            Some(name) => found.map(|_| Key::new(space, name)).into_iter().collect(),
            None => self.clusters_of(space),
        };
        Ok(self.node_in(&clusters, &id))
    }

    fn clusters_of(&self, space: &str) -> Vec<Key> {
        let mut all = self.world.machines.clusters();
        all.retain(|key| *key.namespace == *space);
        all
    }

    fn node_in(&self, clusters: &[Key], id: &str) -> Found {
        let now = self.now();
        let (mut away, mut visible) = (None, None::<i64>);
        for cluster in clusters {
            let state = self.world.clusters.get(cluster);
            if let Err(why) = state.link() {
                away = Some(why.to_string());
                continue;
            }
            let seen = state.seen_since();
            if let Some(node) = state.find(|node| node.provider_id.as_deref() == Some(id)) {
                let shown = self.unready.judge(&node, seen, now);
                let cluster = cluster.clone();
                let place = Some(Place {
                    cluster,
                    state,
                    node,
                });
                return Found { node: shown, place };
            }
            let here = now.saturating_sub(seen);
            visible = Some(visible.map_or(here, |least| least.min(here)));
        }
        match (away, visible) {
            (Some(why), _) => Node::Away(why).into(),
            (None, Some(visible)) => Node::Missing { visible }.into(),
            (None, None) => Node::NoCluster.into(),
        }
    }

    /// Cordons the Node of an orphan and asks its pods to leave.
    pub(super) async fn drain(&self, key: &Key, host: &Host) -> Result<(), WriteError> {
        let found = self.node_of_claim(&key.namespace, host).await?;
        let Some(place) = found.place else {
            return Err(WriteError::Missing);
        };
        let moving = self.by_host.moving(key, host);
        let round = match self.drain_node(&place, moving.as_ref()).await {
            // A person must look: the kubeconfig may not have the right, or the server lies.
            Err(WriteError::Refused(why)) => Round {
                left: 1,
                held: Some(format!(
                    "the drain ends at the API server of the Cluster: {why}"
                )),
                moving,
            },
            other => other?,
        };
        let (node, turn) = (
            &place.node.name,
            round.moving.as_ref().map(|pod| &*pod.name),
        );
        tracing::info!(host = %key, node, pods = round.left, turn, held = round.held, "draining the node of an orphan");
        self.by_host.put_pods(key, host, round, self.now());
        Ok(())
    }

    async fn drain_node(
        &self,
        place: &Place,
        moving: Option<&Moving>,
    ) -> Result<Round, WriteError> {
        let (state, node) = (&place.state, &place.node);
        let away = |why: String| WriteError::Away(why);
        let link = state.link().map_err(|why| away(why.to_string()))?;
        if !node.cordoned {
            state.renew(cordon(link.client, node).await?);
        }
        let client = self.world.clusters.client_for_evictions(&place.cluster);
        evict::round(&client.await.map_err(away)?, &node.name, moving).await
    }
}
