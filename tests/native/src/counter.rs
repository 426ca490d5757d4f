//! A counter that is written through the load balancer all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinHandle;

/// The name of its ConfigMap.
const NAME: &str = "counter";

/// The pause between two writes.
const PAUSE: Duration = Duration::from_millis(20);

/// A running counter.
pub struct Counter {
    stop: Arc<AtomicBool>,
    task: JoinHandle<(u32, Duration)>,
    client: Client,
}

impl Counter {
    /// Starts it.
    #[must_use]
    pub fn start(client: Client) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(count(client.clone(), Arc::clone(&stop)));
        Self { stop, task, client }
    }

    /// Stops it once it has written. Returns how often it was written and the longest time between
    /// two writes.
    ///
    /// # Errors
    ///
    /// Fails when the cluster does not have the last number that it has confirmed.
    pub async fn end(self) -> Result<(u32, Duration)> {
        self.stop.store(true, Ordering::Relaxed);
        let (number, gap) = self.task.await?;
        let maps: Api<ConfigMap> = Api::default_namespaced(self.client);
        let data = maps.get(NAME).await?.data.unwrap_or_default();
        let found = data.get("count").context("the counter has no number")?;
        let found: u32 = found.parse()?;
        // A write whose answer was lost may have happened.
        ensure!(
            found == number || found == number + 1,
            "the counter is {found}, and {number} was confirmed"
        );
        Ok((number, gap))
    }
}

/// Writes one number after the other. Returns the last one that was confirmed, and the longest time
/// between two confirmed writes.
async fn count(client: Client, stop: Arc<AtomicBool>) -> (u32, Duration) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let (mut number, mut gap, mut last) = (0, Duration::ZERO, Instant::now());
    while !stop.load(Ordering::Relaxed) || number == 0 {
        let next = number + 1;
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": NAME }, "data": { "count": next.to_string() } });
        let by = PatchParams::apply(NAME).force();
        if maps.patch(NAME, &by, &Patch::Apply(map)).await.is_ok() {
            (number, gap) = (next, gap.max(last.elapsed()));
            last = Instant::now();
        }
        tokio::time::sleep(PAUSE).await;
    }
    (number, gap)
}
