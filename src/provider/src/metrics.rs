//! The metrics that `/metrics` serves.

mod costs;
mod hosts;
mod labels;
mod operations;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use requests::EndedRequest;

use crate::hooks::hook::Hook;
use crate::hooks::http_response::HttpResponse;
use costs::Costs;
use labels::Labels;

pub use hosts::{HostCounts, HostGauges};
pub use operations::Operations;

/// The counters. Clones share them.
pub struct Metrics {
    registry: Registry,
    hooks: Family<Labels, Histogram>,
    replies: Family<Labels, Counter>,
    looks: Histogram,
    errors: Family<Labels, Counter>,
    answers: Family<Labels, Counter>,
    uncovered: Family<Labels, Counter>,
    finished: Family<Labels, Counter>,
    cordoned: Counter<f64, AtomicU64>,
    costs: Costs,
    gauges: Gauges,
    hosts: HostGauges,
    operations: Operations,
}

/// Values that are computed at each scrape.
#[derive(Clone, Default)]
pub struct Gauges {
    /// Machines that are queued or being processed.
    pub queue: Gauge,
    /// Workload clusters.
    pub clusters: Gauge,
    /// Workload clusters that are not visible.
    pub away: Gauge,
    /// Nodes in memory.
    pub nodes: Gauge,
    /// 1 if this process leads.
    pub leader: Gauge,
    /// Machines whose node works, by phase.
    pub phases: Family<Labels, Gauge>,
    /// Nodes that work and are cordoned.
    pub cordoned: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("careen_provider");
        let hooks = Family::new_with_constructor(histogram as fn() -> Histogram);
        let this = Self {
            hooks,
            looks: histogram(),
            replies: Family::default(),
            errors: Family::default(),
            answers: Family::default(),
            uncovered: Family::default(),
            finished: Family::default(),
            cordoned: Counter::default(),
            costs: Costs::default(),
            gauges: Gauges::default(),
            hosts: HostGauges::default(),
            operations: Operations::default(),
            registry: Registry::default(),
        };
        registry.register(
            "hook_seconds",
            "How long a hook took to answer",
            this.hooks.clone(),
        );
        registry.register(
            "hook_replies",
            "Hook replies by HTTP status and by what they mean",
            this.replies.clone(),
        );
        registry.register(
            "look_seconds",
            "How long careen-provider took to look at a Machine",
            this.looks.clone(),
        );
        registry.register("errors", "Errors by class", this.errors.clone());
        registry.register(
            "answers",
            "Decisions about Machines, by answer",
            this.answers.clone(),
        );
        registry.register(
            "uncovered",
            "Changes that cannot be made in place",
            this.uncovered.clone(),
        );
        registry.register("upgrades", "Upgrades that ended", this.finished.clone());
        registry.register(
            "cordoned_seconds",
            "Seconds for which working nodes were cordoned",
            this.cordoned.clone(),
        );
        this.costs.register(&mut registry);
        this.gauges.register(&mut registry);
        Self { registry, ..this }
    }
}

impl Gauges {
    fn register(&self, registry: &mut Registry) {
        registry.register(
            "queue_depth",
            "Machines that wait for careen-provider to look at them, or that it looks at",
            self.queue.clone(),
        );
        registry.register("clusters", "Workload clusters", self.clusters.clone());
        registry.register(
            "clusters_away",
            "Workload clusters that careen-provider cannot reach",
            self.away.clone(),
        );
        registry.register("nodes", "Nodes in memory", self.nodes.clone());
        registry.register("leader", "1 if this process leads", self.leader.clone());
        registry.register(
            "upgrades_in_phase",
            "Nodes that work, by phase",
            self.phases.clone(),
        );
        registry.register(
            "nodes_cordoned",
            "Nodes that work and are cordoned",
            self.cordoned.clone(),
        );
    }
}

fn histogram() -> Histogram {
    // From 0.1 ms to 26 s.
    Histogram::new(exponential_buckets(0.0001, 4.0, 10))
}

impl Metrics {
    /// The values that are set at each scrape.
    #[must_use]
    pub const fn gauges(&self) -> &Gauges {
        &self.gauges
    }

    /// Registers the metrics of prepared hosts. Without the infrastructure provider there are none.
    #[must_use]
    pub fn with_hosts(mut self) -> Self {
        self.hosts.register(&mut self.registry);
        self.operations.register(&mut self.registry);
        self
    }

    /// The gauges of prepared hosts.
    #[must_use]
    pub const fn hosts(&self) -> &HostGauges {
        &self.hosts
    }

    /// The operations on prepared hosts.
    #[must_use]
    pub const fn operations(&self) -> &Operations {
        &self.operations
    }

    /// Counts an answered hook.
    pub fn answered(&self, hook: Hook, reply: &HttpResponse, took: Duration) {
        let label = ("hook", hook.name().to_owned());
        self.hooks
            .get_or_create(&vec![label.clone()])
            .observe(took.as_secs_f64());
        self.replies
            .get_or_create(&vec![
                label,
                ("status", reply.status.to_string()),
                ("outcome", reply.outcome.to_owned()),
            ])
            .inc();
    }

    /// Counts a processed Machine.
    pub fn looked(&self, answer: &str, took: Duration) {
        self.looks.observe(took.as_secs_f64());
        self.answers
            .get_or_create(&vec![("answer", answer.to_owned())])
            .inc();
    }

    /// Counts a failure.
    pub fn failed(&self, class: &str) {
        self.errors
            .get_or_create(&vec![("class", class.to_owned())])
            .inc();
    }

    /// Counts a change that the provider does not cover.
    pub fn uncovered(&self, replaced: bool) {
        let what = if replaced { "replaced" } else { "held" };
        self.uncovered
            .get_or_create(&vec![("then", what.to_owned())])
            .inc();
    }

    /// Counts a finished upgrade.
    pub fn finished(&self, outcome: &str) {
        self.finished
            .get_or_create(&vec![("outcome", outcome.to_owned())])
            .inc();
    }

    /// Counts the end of a request and its costs.
    pub fn ended(&self, ended: &EndedRequest) {
        self.costs.count(ended);
    }

    /// Adds the time for which this many nodes were cordoned.
    pub fn cordoned(&self, nodes: u32, time: Duration) {
        self.cordoned.inc_by(f64::from(nodes) * time.as_secs_f64());
    }

    /// The text that Prometheus scrapes.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
