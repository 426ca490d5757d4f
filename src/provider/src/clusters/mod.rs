//! The workload clusters. Each has one task, one watch of Nodes and one of its control plane's
//! static pods. Only the fields that matter are kept. A cluster that lies or hangs harms only its
//! own task.

mod cap;
mod connect;
mod documents;
mod left_alone;
mod pace;
mod parse;
mod pulse;
pub(crate) mod seen;
mod size;
mod store;
mod task;
mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::Client;
use tokio::task::JoinHandle;

use crate::machines::{Key, Machines};
use crate::queue::Queue;
use cap::Room;
pub(crate) use documents::Documents;
pub use seen::{Node, Pod, Seen};
pub use size::Size;
pub use store::{ClusterState, Link};

/// The facts of a Node.
#[must_use]
pub fn facts(node: Node) -> requests::NodeFacts {
    node.facts
}

/// All workload clusters. Clones share them.
#[derive(Clone)]
pub struct Clusters(Arc<Inner>);

struct Inner {
    management: Client,
    machines: Machines,
    queue: Queue<Key>,
    room: Room,
    tasks: Mutex<HashMap<Key, Task>>,
}

struct Task {
    state: Arc<ClusterState>,
    handle: JoinHandle<()>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.handle.abort();
        self.state.leave();
    }
}

impl Clusters {
    /// Starts with no clusters.
    #[must_use]
    pub fn new(management: Client, machines: Machines, queue: Queue<Key>) -> Self {
        Self(Arc::new(Inner {
            management,
            machines,
            queue,
            room: Room::default(),
            tasks: Mutex::default(),
        }))
    }

    /// A cluster's state. The first call connects to the cluster. The provider never connects to a
    /// cluster without a Cluster object, because any caller of a hook could name any cluster.
    #[must_use]
    pub fn get(&self, cluster: &Key) -> Arc<ClusterState> {
        let mut tasks = self.tasks();
        if !tasks.contains_key(cluster) && self.0.machines.cluster(cluster).is_none() {
            return Arc::default();
        }
        let task = tasks.entry(cluster.clone()).or_insert_with(|| {
            let state = Arc::new(ClusterState::default());
            state.tell(cluster.clone(), self.0.machines.clone());
            let run = task::run(
                task::Around {
                    management: self.0.management.clone(),
                    machines: self.0.machines.clone(),
                    queue: self.0.queue.clone(),
                    room: self.0.room.clone(),
                },
                cluster.clone(),
                Arc::clone(&state),
            );
            Task {
                state,
                handle: tokio::spawn(run),
            }
        });
        Arc::clone(&task.state)
    }

    /// A client of a cluster for evictions.
    ///
    /// # Errors
    /// When its kubeconfig cannot be read or used.
    pub async fn client_for_evictions(&self, cluster: &Key) -> Result<Client, String> {
        let kubeconfig = connect::kubeconfig(&self.0.management, cluster).await;
        let kubeconfig = kubeconfig.map_err(|error| error.to_string())?;
        let (state, room) = (self.get(cluster), &self.0.room);
        let made = connect::client_for_evictions(cluster, &kubeconfig, state.pulse(), room);
        made.await.map_err(|error| error.to_string())
    }

    /// Uses a state that the caller maintains for a cluster. This type then does not connect to
    /// that cluster.
    pub fn adopt(&self, cluster: Key, state: Arc<ClusterState>) {
        let handle = tokio::spawn(std::future::pending());
        // The previous owner releases it first.
        drop(self.tasks().remove(&cluster));
        state.tell(cluster.clone(), self.0.machines.clone());
        self.tasks().insert(cluster, Task { state, handle });
    }

    /// Connects to the Clusters that exist, and disconnects from those that are gone.
    pub fn follow(&self) {
        let there = self.0.machines.clusters();
        self.tasks().retain(|key, _| there.contains(key));
        for cluster in &there {
            let _ = self.get(cluster);
        }
    }

    /// The number of Nodes in memory, over all clusters.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.tasks().values().map(|task| task.state.len()).sum()
    }

    /// The number of clusters, and how many of them are not visible.
    #[must_use]
    pub fn away(&self) -> (usize, usize) {
        let tasks = self.tasks();
        let away = tasks
            .values()
            .filter(|task| task.state.link().is_err())
            .count();
        (tasks.len(), away)
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Task>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
