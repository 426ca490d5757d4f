//! A number that is written through the API server again and again, whatever happens to the node.
//! No number that the API server has taken may be lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The ConfigMap in `default`, and its key.
const NAME: &str = "rig-counter";
const KEY: &str = "number";

const PAUSE: Duration = Duration::from_millis(500);

/// How long one write may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// It counts until it is dropped.
#[derive(Debug)]
pub struct Counter {
    taken: Arc<Mutex<Taken>>,
    task: JoinHandle<()>,
}

/// What the API server has taken.
#[derive(Debug, Clone, Copy)]
struct Taken {
    number: u64,
    at: Instant,
    longest_gap: Duration,
}

impl Counter {
    /// Begins to count in the cluster of this client.
    #[must_use]
    pub fn start(client: Client) -> Self {
        let taken = Arc::new(Mutex::new(Taken {
            number: 0,
            at: Instant::now(),
            longest_gap: Duration::ZERO,
        }));
        let task = tokio::spawn(count(Api::default_namespaced(client), Arc::clone(&taken)));
        Self { taken, task }
    }

    /// The last number that the API server has taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        lock(&self.taken).number
    }

    /// Checks that the cluster has every number that its API server has taken. Returns the longest
    /// time between two of them, which is how long nobody could write.
    ///
    /// # Errors
    ///
    /// Fails when one is lost, or the API server does not answer.
    pub async fn expect_nothing_lost(&self, client: Client) -> Result<Duration> {
        // The number may grow meanwhile.
        let taken = *lock(&self.taken);
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        let data = api.get(NAME).await?.data.unwrap_or_default();
        let found: u64 = data.get(KEY).context("no number was written")?.parse()?;
        let number = taken.number;
        ensure!(
            number > 0 && found >= number,
            "the API server has taken {number}, and has {found}"
        );
        Ok(taken.longest_gap)
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn count(api: Api<ConfigMap>, taken: Arc<Mutex<Taken>>) {
    let by = PatchParams::apply("rig").force();
    for number in 1.. {
        let text = Patch::Apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": NAME },
            "data": { KEY: number.to_string() },
        }));
        let write = api.patch(NAME, &by, &text);
        if matches!(timeout(PATIENCE, write).await, Ok(Ok(_))) {
            lock(&taken).take(number);
        }
        sleep(PAUSE).await;
    }
}

impl Taken {
    fn take(&mut self, number: u64) {
        let now = Instant::now();
        self.longest_gap = self.longest_gap.max(now - self.at);
        self.number = number;
        self.at = now;
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}
