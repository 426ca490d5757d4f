//! A counter that is written through the load balancer all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinHandle;

/// A running counter.
pub struct Counter {
    stop: Arc<AtomicBool>,
    task: JoinHandle<(u32, Duration)>,
    client: Client,
}

impl Counter {
    pub fn start(client: Client) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(count(client.clone(), Arc::clone(&stop)));
        Self { stop, task, client }
    }

    /// Stops it. Returns how often it was written and the longest time between two writes. The
    /// cluster must have the last number that it has confirmed.
    pub async fn end(self) -> (u32, Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let (number, gap) = self.task.await.unwrap();
        let maps: Api<ConfigMap> = Api::default_namespaced(self.client);
        let map = maps.get("counter").await.unwrap();
        let found: u32 = map.data.unwrap()["count"].parse().unwrap();
        // A write whose answer was lost may have happened.
        assert!(found == number || found == number + 1, "{found}, {number}");
        (number, gap)
    }
}

async fn count(client: Client, stop: Arc<AtomicBool>) -> (u32, Duration) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let (mut number, mut gap, mut last) = (0, Duration::ZERO, Instant::now());
    while !stop.load(Ordering::Relaxed) {
        let next = number + 1;
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "counter" }, "data": { "count": next.to_string() } });
        let by = PatchParams::apply("counter").force();
        if maps.patch("counter", &by, &Patch::Apply(map)).await.is_ok() {
            (number, gap) = (next, gap.max(last.elapsed()));
            last = Instant::now();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (number, gap)
}
