//! The workload clusters: one task and one watch of Nodes each (and one of the static pods of its control plane), only the fields
//! that matter kept. A cluster that lies or hangs costs its own task, nobody else's.

mod cap;
mod connect;
mod documents;
mod pace;
mod parse;
mod pulse;
mod seen;
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
pub use cap::TooLong;
pub(crate) use documents::Documents;
pub use seen::{Node, Pod, Seen};
pub use size::Size;
pub use store::{ClusterState, Link};

/// The facts of a Node.
#[must_use]
pub fn facts(node: Node) -> requests::NodeFacts {
    node.facts
}

/// All workload clusters; clones are the same ones.
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
    /// None yet.
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

    /// A cluster's state; it is connected to from the first time that somebody asks. One that no Cluster object stands for is never
    /// connected to: anybody who can call a hook could name any.
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

    /// Takes a state that somebody else keeps for a cluster: then nothing connects to it from here.
    pub fn adopt(&self, cluster: Key, state: Arc<ClusterState>) {
        let handle = tokio::spawn(std::future::pending());
        // The former keeper lets go first.
        drop(self.tasks().remove(&cluster));
        state.tell(cluster.clone(), self.0.machines.clone());
        self.tasks().insert(cluster, Task { state, handle });
    }

    /// Connects to the Clusters that are there and lets go of those that are gone.
    pub fn follow(&self) {
        let there = self.0.machines.clusters();
        self.tasks().retain(|key, _| there.contains(key));
        for cluster in &there {
            let _ = self.get(cluster);
        }
    }

    /// Nodes that are kept, over all clusters.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.tasks().values().map(|task| task.state.len()).sum()
    }

    /// How many clusters are followed, and how many of them are away.
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
