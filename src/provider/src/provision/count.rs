//! Counts the hosts for the metrics.

use std::sync::Arc;
use std::time::Duration;

use infrastructure::{Host, Policy, brake};

use super::work::Provision;
use crate::metrics::HostCounts;

/// How often the hosts are counted.
const EACH: Duration = Duration::from_secs(15);

impl Provision {
    /// Counts for ever.
    pub async fn count_hosts(self: Arc<Self>) {
        loop {
            let mut counts = HostCounts::default();
            let now = self.now();
            self.inventory.look_at_each_namespace(|hosts| {
                add(&mut counts, hosts, now, &self.policy);
            });
            self.world.metrics.hosts().show(&counts);
            tokio::time::sleep(EACH).await;
        }
    }
}

/// Adds the hosts of one namespace.
fn add(counts: &mut HostCounts, hosts: &[&Host], now: i64, policy: &Policy) {
    for host in hosts {
        *counts.phases.entry(host.phase).or_default() += 1;
        counts.orphans += i64::from(host.orphan.is_some());
        if let Some(claim) = &host.claim {
            counts.claimed += 1;
            counts.lost += i64::from(claim.lost);
            counts.silent += i64::from(!host.is_alive(now, policy.alive));
        }
    }
    counts.braked += i64::from(brake(hosts, None, now, policy).is_some());
}

#[cfg(test)]
mod tests {
    use infrastructure::{Claim, Phase};

    use super::*;

    fn host(phase: Phase, claim: Option<Claim>, heard: i64) -> Host {
        Host {
            phase,
            claim,
            heard,
            renewed: true,
            ..Host::default()
        }
    }

    #[test]
    fn silent_and_lost_hosts_are_counted_only_with_a_claim() {
        let lost = Claim {
            lost: true,
            ..Claim::default()
        };
        let hosts = [
            host(Phase::Available, None, 0),
            host(Phase::Joined, Some(Claim::default()), 990),
            host(Phase::Joined, Some(Claim::default()), 10),
            host(Phase::Joined, Some(lost), 10),
        ];
        let mut counts = HostCounts::default();
        let hosts: Vec<&Host> = hosts.iter().collect();
        add(&mut counts, &hosts, 1000, &Policy::default());
        let phases = [(Phase::Available, 1), (Phase::Joined, 3)].into();
        let expected = HostCounts {
            phases,
            claimed: 3,
            silent: 2,
            lost: 1,
            orphans: 0,
            braked: 0,
        };
        assert_eq!(counts, expected);
    }
}
