//! How many nodes work on an upgrade at the same time, as their agents report it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use tokio::task::JoinHandle;
use upgrade::names;

use crate::node::annotation;

/// The count. It runs until it is dropped.
pub struct Working {
    most: Arc<AtomicUsize>,
    watch: JoinHandle<()>,
}

impl Drop for Working {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl Working {
    /// Begins to count among these Nodes.
    #[must_use]
    pub fn watch(client: &Client, of: HashSet<String>) -> Self {
        let nodes: Api<Node> = Api::all(client.clone());
        let most = Arc::new(AtomicUsize::new(0));
        let shared = Arc::clone(&most);
        let watch = tokio::spawn(async move {
            let mut working: HashMap<String, bool> = HashMap::new();
            let seen = watcher(nodes, watcher::Config::default()).default_backoff();
            let mut seen = std::pin::pin!(seen.applied_objects());
            while let Some(node) = seen.next().await {
                // An error means that the watch restarts.
                let Ok(node) = node else { continue };
                if of.contains(&node.name_any()) {
                    let works = annotation(&node, names::ANSWER) == "InProgress";
                    working.insert(node.name_any(), works);
                    let now = working.values().filter(|works| **works).count();
                    shared.fetch_max(now, Ordering::SeqCst);
                }
            }
        });
        Self { most, watch }
    }

    /// The maximum number of nodes that worked at the same time.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}
