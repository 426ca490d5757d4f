//! How long the operations on prepared hosts take, and how they fail.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::labels::Labels;

/// The counters. Clones share them.
#[derive(Clone)]
pub struct Operations {
    joined: Histogram,
    released: Histogram,
    looks: Family<Labels, Histogram>,
    errors: Family<Labels, Counter>,
}

impl Default for Operations {
    fn default() -> Self {
        Self {
            joined: Histogram::new(exponential_buckets(1.0, 2.0, 13)),
            released: Histogram::new(exponential_buckets(1.0, 2.0, 13)),
            looks: Family::new_with_constructor(super::histogram as fn() -> Histogram),
            errors: Family::default(),
        }
    }
}

impl Operations {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "machine_join_seconds",
            "Seconds from the choice of a host until its machine was provisioned",
            self.joined.clone(),
        );
        registry.register(
            "machine_release_seconds",
            "Seconds from the deletion of a CareenMachine until its host was fenced or given up",
            self.released.clone(),
        );
        registry.register(
            "provision_seconds",
            "How long careen-provider took to look at an object of prepared hosts",
            self.looks.clone(),
        );
        registry.register(
            "provision_errors",
            "Looks at an object of prepared hosts that failed, by class",
            self.errors.clone(),
        );
    }

    /// A machine was provisioned, so many seconds after its host was chosen.
    pub fn joined(&self, seconds: i64) {
        observe(&self.joined, seconds);
    }

    /// The host of a machine was fenced or given up, so many seconds after the deletion.
    pub fn released(&self, seconds: i64) {
        observe(&self.released, seconds);
    }

    /// An object of this kind was looked at.
    pub fn looked(&self, kind: &'static str, took: Duration) {
        let labels = vec![("kind", kind.to_owned())];
        let looks = self.looks.get_or_create(&labels);
        looks.observe(took.as_secs_f64());
    }

    /// A look at an object of this kind failed.
    pub fn failed(&self, kind: &'static str, class: &'static str) {
        let labels = vec![("kind", kind.to_owned()), ("class", class.to_owned())];
        self.errors.get_or_create(&labels).inc();
    }
}

/// A clock that went back makes no negative time.
fn observe(times: &Histogram, seconds: i64) {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    times.observe(Duration::from_secs(seconds).as_secs_f64());
}
