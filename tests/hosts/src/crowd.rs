//! Many played hosts, which live by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinHandle;

use crate::played::Played;

/// How many hosts act at the same moment.
const AT_ONCE: usize = 8;

/// Hosts that renew their Leases and take their steps. Dropping them ends them.
pub struct Crowd {
    ends: Arc<AtomicBool>,
    groups: Vec<JoinHandle<Vec<Played>>>,
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

impl Crowd {
    /// Lets these hosts live, with this pause between two steps of each.
    #[must_use]
    pub fn live(hosts: Vec<Played>, pause: Duration) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let mut parts: Vec<Vec<Played>> = (0..AT_ONCE).map(|_| Vec::new()).collect();
        for (number, host) in hosts.into_iter().enumerate() {
            parts[number % AT_ONCE].push(host);
        }
        let live = |part| tokio::spawn(live(part, Arc::clone(&ends), pause));
        let groups = parts.into_iter().map(live).collect();
        Self { ends, groups }
    }

    /// Ends them between two steps.
    ///
    /// # Errors
    /// When one of them has panicked.
    pub async fn end(mut self) -> Result<Vec<Played>> {
        self.ends.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for group in std::mem::take(&mut self.groups) {
            all.extend(group.await?);
        }
        Ok(all)
    }
}

async fn live(mut hosts: Vec<Played>, ends: Arc<AtomicBool>, pause: Duration) -> Vec<Played> {
    while !ends.load(Ordering::Relaxed) {
        for host in &mut hosts {
            // Its Lease may not be there yet, and the API server may be away.
            let _ = host.renew().await;
            if let Err(error) = host.step().await {
                eprintln!("host {}: {error:#}", host.name);
            }
        }
        tokio::time::sleep(pause).await;
    }
    hosts
}
