//! The life of one workload cluster's connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use tracing::{info, warn};

use super::connect;
use super::parse;
use super::store::{ClusterState, Link, MOST};
use crate::api;
use crate::engine::clean;
use crate::machines::{Key, Machines};
use crate::queue::Queue;
use crate::watch::{self, Filter, News, Pauses, WatchError};
use crate::world::now;

/// How often the Secret is looked at while the connection holds: a credential may be rotated long before the old one ends. Asked
/// of the management cluster, once a Cluster.
const LOOK: Duration = Duration::from_secs(60);

/// How often the server is asked for its version at most: what makes us doubt it comes in bursts, and again as long as somebody is held by it.
const VERSIONS: Duration = Duration::from_secs(30);

/// What one connection needs.
struct Scene<'a> {
    management: &'a Client,
    cluster: &'a Key,
    state: &'a ClusterState,
    machines: &'a Machines,
    queue: &'a Queue<Key>,
}

pub async fn run(
    management: Client,
    cluster: Key,
    state: Arc<ClusterState>,
    machines: Machines,
    queue: Queue<Key>,
) {
    let scene = Scene {
        management: &management,
        cluster: &cluster,
        state: &state,
        machines: &machines,
        queue: &queue,
    };
    let mut pauses = Pauses::default();
    loop {
        let mut listed = None;
        let why = scene.live(&mut listed).await;
        // A watch that ends is not yet an absence: the next try shows. A try that fails is one.
        if listed.is_none() || why.is_refusal {
            scene.away(&why.text);
        }
        let held = listed.map(|at| at.elapsed());
        tokio::time::sleep(pauses.behind(held.unwrap_or_default())).await;
    }
}

/// No more than is kept.
fn few() -> Filter {
    Filter {
        most: Some(MOST),
        ..Filter::default()
    }
}

/// Why a connection ended.
struct End {
    text: String,
    is_refusal: bool,
}

impl From<WatchError> for End {
    fn from(error: WatchError) -> Self {
        Self {
            is_refusal: matches!(error, WatchError::Refused(_)),
            text: error.to_string(),
        }
    }
}

impl Scene<'_> {
    async fn live(&self, listed: &mut Option<Instant>) -> End {
        let failed = |error: connect::ConnectError| End {
            text: error.to_string(),
            is_refusal: false,
        };
        let kubeconfig = match connect::kubeconfig(self.management, self.cluster).await {
            Ok(kubeconfig) => kubeconfig,
            Err(error) => return failed(error),
        };
        let client = match connect::client(self.cluster, &kubeconfig, self.state.pulse()).await {
            Ok(client) => client,
            Err(error) => return failed(error),
        };
        let server = match connect::version(&client).await {
            Ok(server) => server,
            Err(error) => return error.into(),
        };
        let link = Link {
            server,
            client: client.clone(),
        };
        tokio::select! {
            end = self.watch_nodes(&link, listed) => end,
            end = self.watch_pods(client.clone()) => end,
            end = self.follow_version(&client) => end,
            () = self.until_rotated(&kubeconfig) => End {
                text: "its kubeconfig was rotated".to_owned(),
                is_refusal: false,
            },
            () = self.state.until_suspected() => End {
                text: "a request got no answer".to_owned(),
                is_refusal: false,
            },
            () = self.state.pulse().until_silent() => End {
                text: "nothing was heard of it for long".to_owned(),
                is_refusal: false,
            },
        }
    }

    async fn watch_nodes(&self, link: &Link, listed: &mut Option<Instant>) -> End {
        let tell = |news: News<api::Node>| match news {
            News::All(all) => {
                *listed = Some(Instant::now());
                info!(cluster = %self.cluster, nodes = all.len(), "watching Nodes");
                let nodes = all.into_iter().map(parse::node).collect();
                let names = self.state.live(link.clone(), nodes, now());
                names.iter().for_each(|node| self.wake(node));
            }
            News::Changed(node) => {
                let facts = parse::node(node);
                let name = facts.name.clone();
                if self.state.put(facts) {
                    self.wake(&name);
                }
            }
            News::Gone(node) => {
                let name = node.metadata.name.unwrap_or_default();
                self.state.remove(&name);
                self.wake(&name);
            }
        };
        let Err(error) = watch::once(api::nodes(link.client.clone()), &few(), tell).await;
        error.into()
    }

    /// Static pods matter for control planes alone. A cluster that shows none (or refuses) is still served for its workers.
    async fn watch_pods(&self, client: Client) -> End {
        let filter = Filter {
            labels: Some("tier=control-plane".to_owned()),
            ..few()
        };
        let tell = |news: News<api::Pod>| match news {
            News::All(all) => self
                .state
                .replace_pods(all.into_iter().filter_map(parse::pod).collect()),
            News::Changed(pod) => {
                if let Some(pod) = parse::pod(pod) {
                    let node = pod.1.clone();
                    self.state.put_pod(pod);
                    self.wake(&node);
                }
            }
            News::Gone(pod) => self
                .state
                .remove_pod(&pod.metadata.name.unwrap_or_default()),
        };
        watch::forever(api::system_pods(client), filter, tell, |error| {
            tracing::debug!(cluster = %self.cluster, "the watch of static pods broke: {error}");
            std::future::ready(())
        })
        .await;
        std::future::pending().await
    }

    /// A connection outlives the server that it began with, where there are several behind one address. One that does not answer is left to
    /// the watches.
    async fn follow_version(&self, client: &Client) -> End {
        loop {
            self.state.until_doubted().await;
            match connect::version(client).await {
                Ok(Some(version)) if self.state.serves(&version) => {
                    info!(cluster = %self.cluster, %version, "the API server has another version");
                    self.wake_all();
                }
                Ok(_) => {}
                Err(_) => self.state.doubt(),
            }
            tokio::time::sleep(VERSIONS).await;
        }
    }

    async fn until_rotated(&self, kubeconfig: &[u8]) {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = connect::kubeconfig(self.management, self.cluster).await;
            if now.is_ok_and(|now| now != kubeconfig) {
                return;
            }
        }
    }

    fn wake(&self, node: &str) {
        if let Some(machine) = self.machines.of_node(self.cluster, node) {
            self.queue.add(machine);
        }
    }

    fn away(&self, why: &str) {
        if self.state.away(why) {
            warn!(cluster = %self.cluster, "the workload cluster is away: {}", clean(why));
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        let of_cluster = self.machines.of_cluster(self.cluster);
        of_cluster.into_iter().for_each(|key| self.queue.add(key));
    }
}
