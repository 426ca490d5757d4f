//! The heartbeats of all hosts: each renews its Lease once a minute, as a host does that has joined.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use provider::kinds::policies::OF_A_HOST;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::objects::{SPACE, name};

/// The time between two heartbeats of a host (`HEARTBEAT` of careen-host).
const PERIOD: Duration = Duration::from_secs(60);

/// The number of heartbeats that are on their way at the same time.
const AT_ONCE: usize = 32;

/// The task. A drop ends it.
pub struct Beats {
    counts: Arc<Counts>,
    life: JoinHandle<()>,
}

#[derive(Default)]
struct Counts {
    renewed: AtomicUsize,
    failed: AtomicUsize,
}

impl Drop for Beats {
    fn drop(&mut self) {
        self.life.abort();
    }
}

impl Beats {
    /// Begins. The beats of all hosts are spread evenly.
    pub fn start(admin: &Client, count: usize) -> Self {
        let counts = Arc::new(Counts::default());
        let leases = Api::namespaced(admin.clone(), SPACE);
        let life = tokio::spawn(beat(leases, count, Arc::clone(&counts)));
        Self { counts, life }
    }

    /// How many were answered. None may fail: the host would be silent.
    pub fn so_far(&self) -> Result<usize> {
        let failed = self.counts.failed.load(Ordering::Relaxed);
        ensure!(failed == 0, "{failed} heartbeats failed");
        Ok(self.counts.renewed.load(Ordering::Relaxed))
    }
}

async fn beat(leases: Api<Lease>, count: usize, counts: Arc<Counts>) {
    let pause = PERIOD / u32::try_from(count).unwrap_or(u32::MAX);
    let mut clock = tokio::time::interval(pause);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    for number in (0..count).cycle() {
        clock.tick().await;
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let (leases, counts) = (leases.clone(), Arc::clone(&counts));
        tokio::spawn(async move {
            let seen = match renew(&leases, number).await {
                Ok(()) => &counts.renewed,
                Err(error) => {
                    eprintln!("the heartbeat of {}: {error}", name(number));
                    &counts.failed
                }
            };
            seen.fetch_add(1, Ordering::Relaxed);
            drop(place);
        });
    }
}

async fn renew(leases: &Api<Lease>, number: usize) -> kube::Result<()> {
    let now = format!("{:.6}", Timestamp::now());
    let body = Patch::Merge(json!({ "spec": { "renewTime": now } }));
    let of = format!("{OF_A_HOST}{}", name(number));
    leases.patch(&of, &PatchParams::default(), &body).await?;
    Ok(())
}
