//! How the provider's requests ended and what the upgrades cost, as their Nodes report.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use requests::{EndedRequest, Took};
use upgrade::Phase;

use super::labels::Labels;

/// From a quarter of a minute to a day. A reboot takes a minute or two. A download over a slow link
/// or a wait for the window takes many hours.
const BUCKETS: [f64; 13] = [
    15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0,
    86400.0,
];

/// The counters. The replica that removes the mark from the Machine counts the end, because the API
/// server accepts that write from only one replica. The next leader counts what ends while nobody
/// leads. If the replica dies right after that write, nobody counts the end.
pub(super) struct Costs {
    requests: Family<Labels, Counter>,
    trial_boots: Counter,
    phases: Family<Labels, Histogram>,
    working: Histogram,
    waiting: Histogram,
    cordoned: Histogram,
    drained: Histogram,
    not_ready: Histogram,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            trial_boots: Counter::default(),
            phases: Family::new_with_constructor(histogram as fn() -> Histogram),
            working: histogram(),
            waiting: histogram(),
            cordoned: histogram(),
            drained: histogram(),
            not_ready: histogram(),
        }
    }
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

fn observe(histogram: &Histogram, seconds: Option<u32>) {
    if let Some(seconds) = seconds {
        histogram.observe(seconds.into());
    }
}

impl Costs {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "requests",
            "Requests that ended, by their Nodes' histories; counted when the Machine's mark is removed, from 0 at each start, without those during which a replica died",
            self.requests.clone(),
        );
        registry.register(
            "trial_boots",
            "Trial boots of those requests",
            self.trial_boots.clone(),
        );
        registry.register(
            "upgrade_phase_seconds",
            "How long an upgrade worked in a phase, by its node's clock, all visits together, without waiting",
            self.phases.clone(),
        );
        self.register_bill(registry);
    }

    fn register_bill(&self, registry: &mut Registry) {
        registry.register(
            "upgrade_working_seconds",
            "How long an upgrade worked, without waiting",
            self.working.clone(),
        );
        registry.register(
            "upgrade_waiting_seconds",
            "How long an upgrade waited for the maintenance window or the end of a pause",
            self.waiting.clone(),
        );
        registry.register(
            "upgrade_cordoned_seconds",
            "How long an upgrade cordoned its node",
            self.cordoned.clone(),
        );
        registry.register(
            "upgrade_drained_seconds",
            "How long a node was without its pods for an upgrade",
            self.drained.clone(),
        );
        registry.register(
            "upgrade_not_ready_seconds",
            "How long a node was not Ready because of an upgrade's reboots",
            self.not_ready.clone(),
        );
    }

    /// Counts the end of a request.
    pub(super) fn count(&self, ended: &EndedRequest) {
        let labels = vec![
            ("outcome", ended.outcome.as_str().to_owned()),
            ("reason", ended.reason.clone()),
        ];
        self.requests.get_or_create(&labels).inc();
        self.trial_boots.inc_by(ended.tries.into());
        for (phase, seconds) in Phase::NAMES.into_iter().zip(ended.phases) {
            let Some(seconds) = seconds else { continue };
            let label = vec![("phase", phase.to_owned())];
            let histogram = self.phases.get_or_create(&label);
            histogram.observe(seconds.into());
        }
        self.bill(&ended.took);
    }

    fn bill(&self, took: &Took) {
        observe(&self.working, took.working);
        observe(&self.waiting, took.waiting);
        observe(&self.cordoned, took.cordoned);
        observe(&self.drained, took.drained);
        observe(&self.not_ready, took.not_ready);
    }
}
