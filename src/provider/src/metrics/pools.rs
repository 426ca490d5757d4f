//! The gauges of pools.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::labels::Labels;

/// The machines of one pool, counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// The replicas of its MachinePool.
    pub wanted: i64,
    /// Machines that stay.
    pub members: i64,
    /// Those of them whose Node is Ready, and that are not upgraded just now.
    pub ready: i64,
    /// Those that run the wanted image.
    pub updated: i64,
    /// Those that are not Ready.
    pub unavailable: i64,
    /// A failed upgrade has stopped it.
    pub stopped: bool,
}

/// The gauges. Clones share them.
#[derive(Clone, Default)]
pub struct PoolGauges {
    machines: Family<Labels, Gauge>,
    stopped: Family<Labels, Gauge>,
}

/// One label: a scraper may set `namespace` to that of careen-provider.
fn pool(space: &str, name: &str) -> Labels {
    vec![("pool", format!("{space}/{name}"))]
}

impl PoolGauges {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "pool_machines",
            "Machines of a CareenMachinePool, by what they are; only the leader shows them",
            self.machines.clone(),
        );
        registry.register(
            "pool_stopped",
            "1 if a failed upgrade has stopped the CareenMachinePool; only the leader shows it",
            self.stopped.clone(),
        );
    }

    /// Shows a pool.
    pub fn show(&self, space: &str, name: &str, counts: &PoolCounts) {
        for (state, count) in states(counts) {
            let mut labels = pool(space, name);
            labels.push(("state", state.to_owned()));
            self.machines.get_or_create(&labels).set(count);
        }
        let stopped = self.stopped.get_or_create(&pool(space, name));
        stopped.set(i64::from(counts.stopped));
    }

    /// The pool is gone.
    pub fn forget(&self, space: &str, name: &str) {
        for (state, _) in states(&PoolCounts::default()) {
            let mut labels = pool(space, name);
            labels.push(("state", state.to_owned()));
            self.machines.remove(&labels);
        }
        self.stopped.remove(&pool(space, name));
    }

    /// Another replica leads: it shows the pools.
    pub fn clear(&self) {
        self.machines.clear();
        self.stopped.clear();
    }
}

const fn states(counts: &PoolCounts) -> [(&'static str, i64); 5] {
    [
        ("wanted", counts.wanted),
        ("members", counts.members),
        ("ready", counts.ready),
        ("updated", counts.updated),
        ("unavailable", counts.unavailable),
    ]
}
