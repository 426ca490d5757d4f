//! The gauges of prepared hosts.

use std::collections::BTreeMap;

use infrastructure::Phase;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::labels::Labels;

/// The hosts of all namespaces, counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// By phase.
    pub phases: BTreeMap<Phase, i64>,
    /// With a claim.
    pub claimed: i64,
    /// With a claim, and their Lease is not renewed.
    pub silent: i64,
    /// Given up without an answer, and not back.
    pub lost: i64,
    /// Named as orphans.
    pub orphans: i64,
    /// Namespaces in which too many hosts are silent to give one up.
    pub braked: i64,
}

/// The gauges. Clones share them.
#[derive(Clone, Default)]
pub struct HostGauges {
    phases: Family<Labels, Gauge>,
    claimed: Gauge,
    silent: Gauge,
    lost: Gauge,
    orphans: Gauge,
    braked: Gauge,
    unmanaged: Gauge,
}

impl HostGauges {
    pub(super) fn register(&self, registry: &mut Registry) {
        let phases = self.phases.clone();
        registry.register("hosts", "Prepared hosts, by phase", phases);
        let rest = [
            (
                "hosts_claimed",
                "Prepared hosts with a claim",
                &self.claimed,
            ),
            (
                "hosts_silent",
                "Claimed hosts whose Lease is not renewed",
                &self.silent,
            ),
            (
                "hosts_lost",
                "Hosts that were given up without an answer and are not back",
                &self.lost,
            ),
            (
                "hosts_orphaned",
                "Hosts whose claim no CareenMachine has",
                &self.orphans,
            ),
            (
                "hosts_braked",
                "Namespaces in which so many hosts are silent that none is given up",
                &self.braked,
            ),
            (
                "nodes_unmanaged",
                "Nodes of prepared hosts that are marked, because no CareenMachine has them",
                &self.unmanaged,
            ),
        ];
        for (name, help, gauge) in rest {
            registry.register(name, help, gauge.clone());
        }
    }

    /// Shows how many Nodes are marked as those that no machine has.
    pub fn show_unmanaged(&self, nodes: i64) {
        self.unmanaged.set(nodes);
    }

    /// Shows what was counted.
    pub fn show(&self, counts: &HostCounts) {
        for phase in Phase::ALL {
            let label = vec![("phase", phase.to_string())];
            let count = counts.phases.get(&phase).copied().unwrap_or_default();
            self.phases.get_or_create(&label).set(count);
        }
        self.claimed.set(counts.claimed);
        self.silent.set(counts.silent);
        self.lost.set(counts.lost);
        self.orphans.set(counts.orphans);
        self.braked.set(counts.braked);
    }
}
