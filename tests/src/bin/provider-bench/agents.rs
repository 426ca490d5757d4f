//! The agents of all Nodes: each handles the request on its Node, and finishes when the benchmark
//! says so. They talk through the API server as the real agent does.
//! `cargo test -p careen-tests --test cluster_api` uses the real agent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use careen_tests::fleet::images::{FIRST, LATEST};
use careen_tests::node::annotation;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::names;

/// The number of agents that write at the same time.
const AT_ONCE: usize = 8;

/// The retry interval after a failed write.
const AGAIN: Duration = Duration::from_secs(1);

/// All agents. A drop ends them.
pub struct Agents {
    shared: Arc<Shared>,
    life: JoinHandle<()>,
}

struct Shared {
    nodes: Api<Node>,
    ids: Mutex<HashMap<String, String>>,
    working: watch::Sender<usize>,
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.life.abort();
    }
}

impl Agents {
    /// Makes them watch their Nodes.
    pub fn start(admin: &Client) -> Self {
        let shared = Arc::new(Shared {
            nodes: Api::all(admin.clone()),
            ids: Mutex::default(),
            working: watch::Sender::new(0),
        });
        let life = tokio::spawn(Arc::clone(&shared).live());
        Self { shared, life }
    }

    /// Waits until this many agents report that they work. It waits at most `patience` for each
    /// further agent.
    pub async fn until_working(&self, many: usize, patience: Duration) -> Result<()> {
        let mut working = self.shared.working.subscribe();
        loop {
            let seen = *working.borrow_and_update();
            if seen >= many {
                return Ok(());
            }
            let more = tokio::time::timeout(patience, working.changed()).await;
            more.with_context(|| {
                format!("{seen} of {many} nodes are asked and work, and no other for {patience:?}")
            })??;
        }
    }

    /// Reports that the agent has booted the new system on trial.
    pub async fn is_on_trial(&self, node: &str) -> Result<()> {
        let word = answer("InProgress", "Trial", &self.id(node)?, 60);
        self.shared.write(node, word).await
    }

    /// Reports that the node runs the new system and is uncordoned, and that its kubelet says so.
    /// The agent has not reported the end yet.
    pub async fn runs_new(&self, node: &str) -> Result<()> {
        let version = json!({ "status": { "nodeInfo": { "kubeletVersion": LATEST.version } } });
        let (how, version) = (PatchParams::default(), Patch::Merge(version));
        self.shared.nodes.patch_status(node, &how, &version).await?;
        let uncordoned = json!({ "spec": { "unschedulable": false } });
        self.shared.write(node, uncordoned).await
    }

    /// Writes the agent's final status.
    pub async fn is_done(&self, node: &str) -> Result<()> {
        let word = answer("Upgraded", "Upgraded", &self.id(node)?, 100);
        self.shared.write(node, word).await
    }

    fn id(&self, node: &str) -> Result<String> {
        let id = self.shared.ids().get(node).cloned();
        id.with_context(|| format!("{node} was never asked"))
    }
}

impl Shared {
    async fn live(self: Arc<Self>) {
        let seen = watcher(self.nodes.clone(), watcher::Config::default()).applied_objects();
        // An error means that the watch restarts.
        let asked = seen.filter_map(|node| std::future::ready(node.ok().as_ref().and_then(asked)));
        let speak = |(node, id): (String, String)| Arc::clone(&self).take_up(node, id);
        asked.for_each_concurrent(AT_ONCE, speak).await;
    }

    /// Writes the status until a write succeeds.
    async fn take_up(self: Arc<Self>, node: String, id: String) {
        if self.ids().insert(node.clone(), id.clone()).as_ref() == Some(&id) {
            return;
        }
        let mut change = answer("InProgress", "Fetched", &id, 30);
        change["spec"] = json!({ "unschedulable": true });
        while let Err(error) = self.write(&node, change.clone()).await {
            eprintln!("the agent of {node}: {error:#}");
            tokio::time::sleep(AGAIN).await;
        }
        self.working.send_modify(|working| *working += 1);
    }

    async fn write(&self, node: &str, change: Value) -> Result<()> {
        let (how, change) = (PatchParams::default(), Patch::Merge(change));
        self.nodes.patch(node, &how, &change).await?;
        Ok(())
    }

    fn ids(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request on a Node: the Node's name and the request's id.
fn asked(node: &Node) -> Option<(String, String)> {
    let stands = annotation(node, names::REQUEST) == names::REQUEST_SCHEDULED;
    let id = annotation(node, names::UPGRADE_ID);
    stands.then(|| (node.name_any(), id.to_owned()))
}

/// A status as the real agent writes it.
fn answer(word: &str, phase: &str, id: &str, percent: u8) -> Value {
    let status = json!({
        "id": id, "phase": phase, "percent": percent, "tries": 1, "boot": "0a1b2c3d-0000-0000-0000-000000000000",
        "from": FIRST.digest(), "to": LATEST.digest(), "toVersion": LATEST.version, "reached": [],
    });
    json!({ "metadata": { "annotations": { names::ANSWER: word, names::STATUS: status.to_string() } } })
}
