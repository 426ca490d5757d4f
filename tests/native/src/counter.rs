//! A counter that is written through the load balancer all the time.

use std::ops::RangeBounds;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// How often a read is repeated.
const READS: usize = 20;

/// A running counter.
pub struct Counter {
    stop: Arc<AtomicBool>,
    task: JoinHandle<u32>,
    confirmed: Arc<Mutex<Vec<Instant>>>,
    client: Client,
}

impl Counter {
    /// Starts it.
    #[must_use]
    pub fn start(client: Client) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let confirmed = Arc::new(Mutex::new(vec![Instant::now()]));
        let counts = count(client.clone(), Arc::clone(&stop), Arc::clone(&confirmed));
        Self {
            stop,
            task: tokio::spawn(counts),
            confirmed,
            client,
        }
    }

    /// The longest time without a confirmed write that ended between two moments.
    #[must_use]
    pub fn longest_gap(&self, from: Instant, to: Instant) -> Duration {
        longest(&lock(&self.confirmed), from..=to)
    }

    /// Stops it once it has written. Returns how often it was written and the longest time between
    /// two writes.
    ///
    /// # Errors
    ///
    /// Fails when the cluster does not have the last number that it has confirmed.
    pub async fn end(self) -> Result<(u32, Duration)> {
        self.stop.store(true, Ordering::Relaxed);
        let number = self.task.await?;
        let gap = longest(&lock(&self.confirmed), ..);
        let maps: Api<ConfigMap> = Api::default_namespaced(self.client);
        let mut read = maps.get(NAME).await;
        // A connection that is kept may be to a member that was rebooted, and ends only then.
        for _ in 0..READS {
            if read.is_ok() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            read = maps.get(NAME).await;
        }
        let data = read?.data.unwrap_or_default();
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

/// Writes one number after the other, and notes the moment of each write that was confirmed.
/// Returns the last one of these.
async fn count(client: Client, stop: Arc<AtomicBool>, confirmed: Arc<Mutex<Vec<Instant>>>) -> u32 {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) || number == 0 {
        let next = number + 1;
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": NAME }, "data": { "count": next.to_string() } });
        let by = PatchParams::apply(NAME).force();
        if maps.patch(NAME, &by, &Patch::Apply(map)).await.is_ok() {
            number = next;
            lock(&confirmed).push(Instant::now());
        }
        tokio::time::sleep(PAUSE).await;
    }
    number
}

fn longest(confirmed: &[Instant], ended: impl RangeBounds<Instant>) -> Duration {
    let pairs = confirmed.windows(2);
    let ended = pairs.filter(|pair| ended.contains(&pair[1]));
    let gaps = ended.map(|pair| pair[1] - pair[0]);
    gaps.max().unwrap_or_default()
}

fn lock(confirmed: &Mutex<Vec<Instant>>) -> MutexGuard<'_, Vec<Instant>> {
    confirmed.lock().unwrap_or_else(PoisonError::into_inner)
}
