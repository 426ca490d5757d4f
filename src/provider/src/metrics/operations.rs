//! How long the operations of prepared hosts and pools take, and what goes wrong with them.

use std::time::Duration;

use infrastructure::{Class, Why};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::labels::Labels;

/// From half a second to a day. A claim takes less than a second, a trial boot minutes, and the roll
/// of a large pool hours.
const BUCKETS: [f64; 16] = [
    0.5, 1.0, 2.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0, 7200.0, 14400.0,
    28800.0, 86400.0,
];

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A machine waits for its host, until the host has the claim.
    Claim,
    /// A host brings the image to the disk, boots it and blesses it.
    Image,
    /// A host waits for bootstrap data, runs them and joins.
    Join,
    /// A host was ordered to leave, until its old kubelet cannot come back.
    Release,
    /// A host removes what the cluster left, until it is clean.
    Clean,
    /// A machine of a pool is upgraded in place.
    Update,
    /// A pool is upgraded, from the first order until all its machines run the image.
    Roll,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Claim,
        Self::Image,
        Self::Join,
        Self::Release,
        Self::Clean,
        Self::Update,
        Self::Roll,
    ];

    /// A stable word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Image => "image",
            Self::Join => "join",
            Self::Release => "release",
            Self::Clean => "clean",
            Self::Update => "update",
            Self::Roll => "roll",
        }
    }
}

/// The histograms and counters. Clones share them.
#[derive(Clone)]
pub struct Operations {
    seconds: Family<Labels, Histogram>,
    troubles: Family<Labels, Counter>,
}

impl Default for Operations {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        Self {
            seconds: Family::new_with_constructor(histogram),
            troubles: Family::default(),
        }
    }
}

impl Operations {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "operation_seconds",
            "How long an operation of a prepared host or a pool took, if it succeeded and this replica saw its beginning",
            self.seconds.clone(),
        );
        registry.register(
            "machine_troubles",
            "Times that a CareenMachine met a trouble, by its class and reason",
            self.troubles.clone(),
        );
    }

    /// An operation has succeeded.
    pub fn took(&self, what: Operation, time: Duration) {
        let label = vec![("operation", what.name().to_owned())];
        let histogram = self.seconds.get_or_create(&label);
        histogram.observe(time.as_secs_f64());
    }

    /// A machine has met a trouble.
    pub fn trouble(&self, why: &Why) {
        let labels = vec![
            ("class", why.class().name().to_owned()),
            ("reason", why.code().to_owned()),
        ];
        self.troubles.get_or_create(&labels).inc();
    }
}

/// Whether a reason of this class is a trouble, and not a part of the ordinary way.
#[must_use]
pub const fn is_trouble(class: Class) -> bool {
    match class {
        Class::Fine | Class::Wait => false,
        Class::Retry | Class::NextHost | Class::Replace | Class::Person => true,
    }
}
