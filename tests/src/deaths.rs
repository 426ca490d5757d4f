//! Kills careen-provider after each of its writes: its mark on a Machine, or its request on a Node.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use futures::stream::{self, select};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DynamicObject, ListParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use provider::names;
use testkit::cluster_api::objects;

use crate::provider_process::ProviderProcess;

/// The poll interval for Nodes that the test cannot watch.
const LOOK: Duration = Duration::from_millis(100);

impl ProviderProcess {
    /// Kills the provider after each of its writes reaches the API server, and starts it again.
    /// Never returns by itself.
    ///
    /// # Errors
    /// When it does not start again.
    pub async fn dies_at_every_write(&self, admin: &Client, deaths: &AtomicU32) -> Result<()> {
        let nodes = words(Api::<Node>::all(admin.clone()), "Node");
        let machines = words(machines(admin)?, "Machine");
        self.dies_at(select(nodes, machines), deaths).await
    }

    /// Does the same where the Nodes are on an API server of the in-memory provider, whose watches
    /// kube does not read (see [`crate::in_memory`]). There the provider dies up to a tenth of a
    /// second later. The poll misses a value that exists for a shorter time.
    ///
    /// # Errors
    /// When it does not start again.
    pub async fn dies_at_every_write_in_memory(
        &self,
        (admin, workload): (&Client, &Client),
        deaths: &AtomicU32,
    ) -> Result<()> {
        let nodes = looked_at(Api::all(workload.clone()));
        let machines = words(machines(admin)?, "Machine");
        self.dies_at(select(nodes, machines), deaths).await
    }

    async fn dies_at(
        &self,
        written: impl Stream<Item = (String, String)>,
        deaths: &AtomicU32,
    ) -> Result<()> {
        let mut written = pin!(written);
        let mut known: HashMap<String, String> = HashMap::new();
        while let Some((name, word)) = written.next().await {
            // A value from before the start is not a write of this run.
            let before = known.insert(name, word.clone());
            if before.is_some_and(|before| before != word) {
                self.kill()?;
                deaths.fetch_add(1, Ordering::SeqCst);
                self.start_again()?;
            }
        }
        bail!("the watch has ended")
    }
}

fn machines(admin: &Client) -> Result<Api<DynamicObject>> {
    let kind = objects::kind("cluster.x-k8s.io/v1beta2", "Machine")?;
    Ok(objects::api(admin, &kind, None))
}

/// What the provider writes on one object: its request on a Node, its mark on a Machine.
fn word(object: &impl ResourceExt) -> String {
    let keys = [
        upgrade::names::REQUEST,
        upgrade::names::UPGRADE_ID,
        names::MARK,
    ];
    keys.map(|key| object.annotations().get(key).cloned().unwrap_or_default())
        .join(" ")
}

/// An object of a kind by its name, and what the provider wrote on it.
fn named(kind: &str, object: &impl ResourceExt) -> (String, String) {
    (format!("{kind} {}", object.name_any()), word(object))
}

/// The name and the provider's value of every object of a kind, now and at each later write.
fn words<K>(api: Api<K>, kind: &'static str) -> impl Stream<Item = (String, String)>
where
    K: Resource + Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + 'static,
{
    let written = watcher(api, watcher::Config::default()).applied_objects();
    written.filter_map(move |object| async move { Some(named(kind, &object.ok()?)) })
}

/// The name and the provider's value of every Node, polled repeatedly.
fn looked_at(nodes: Api<Node>) -> impl Stream<Item = (String, String)> {
    let look = |nodes: Api<Node>| async move {
        tokio::time::sleep(LOOK).await;
        // The next poll retries a request that failed.
        let all = nodes.list(&ListParams::default()).await;
        let all = all.map(|all| all.items).unwrap_or_default();
        let words: Vec<_> = all.iter().map(|node| named("Node", node)).collect();
        Some((stream::iter(words), nodes))
    };
    stream::unfold(nodes, look).flatten()
}
