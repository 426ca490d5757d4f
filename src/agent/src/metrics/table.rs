//! The table of metrics: what is served, what the docs show, and how each value comes from the
//! record and the observation.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::measure::Measure;
use super::samples::{self, Sample};
use super::shown::Shown;

/// The prefix of each name.
pub const PREFIX: &str = "careen_agent";

/// How a metric changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Up and down.
    Gauge,
    /// Only up, over the node's whole life: the record keeps it.
    Counter,
}

/// One metric.
pub struct Metric {
    /// Its name without prefix, unit and `_total`.
    pub name: &'static str,
    /// How it moves.
    pub kind: Kind,
    /// Its unit.
    pub measure: Measure,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// Its help text.
    pub help: &'static str,
    /// Its values.
    pub samples: fn(&Shown) -> Vec<Sample>,
}

/// All metrics, in the order in which they are served.
pub const TABLE: &[Metric] = &[
    gauge(
        "build_info",
        Measure::Flag,
        &["version"],
        "1; the version of careen-agent",
        samples::build,
    ),
    gauge(
        "api_reached",
        Measure::Flag,
        &[],
        "1 while the agent reaches the API server",
        samples::api_reached,
    ),
    gauge(
        "paused",
        Measure::Flag,
        &[],
        "1 while the Node's careen.dev/paused stops new requests",
        samples::paused,
    ),
    gauge(
        "policy_valid",
        Measure::Flag,
        &[],
        "1 if the policy file is absent or valid; 0 if it is refused",
        samples::policy,
    ),
    gauge(
        "window_open",
        Measure::Flag,
        &[],
        "1 while the maintenance window is open; always 1 without a window in the policy; 0 while the clock was not set in this boot and the policy does not trust it",
        samples::window_open,
    ),
    gauge(
        "window_changes_timestamp",
        Measure::Seconds,
        &[],
        "When the window closes, or opens if it is closed, since 1970; none without a window in the policy, or if the agent does not know the time or the window's time zone",
        samples::window_changes,
    ),
    gauge(
        "trouble",
        Measure::Flag,
        &[],
        "1 while the agent cannot read this system's state or write the record: it does nothing, and other values are old or absent",
        samples::trouble,
    ),
    gauge(
        "phase",
        Measure::Flag,
        &["phase"],
        "1 for the phase that the Node shows, 0 for all others; Idle before the first request",
        samples::phase,
    ),
    gauge(
        "reason_info",
        Measure::Flag,
        &["reason"],
        "1; the code of what holds up the upgrade, or of why the last request failed",
        samples::reason,
    ),
    gauge(
        "cordoned",
        Measure::Flag,
        &[],
        "1 while an upgrade cordons the node",
        samples::is_cordoned,
    ),
    gauge(
        "upgrade_info",
        Measure::Flag,
        &["id", "from", "to", "kubernetes"],
        "1; the upgrade under way, or the last one",
        samples::upgrade,
    ),
    gauge(
        "upgrade_progress",
        Measure::Ratio,
        &[],
        "The upgrade's progress, 0 to 1",
        samples::progress,
    ),
    gauge(
        "upgrade_trial_boots",
        Measure::Count,
        &[],
        "Trial boots of the upgrade",
        samples::trial_boots,
    ),
    gauge(
        "upgrade_step_tries",
        Measure::Count,
        &["step"],
        "Failed tries of the step that is retried",
        samples::step_tries,
    ),
    gauge(
        "upgrade_phase_reached_timestamp",
        Measure::Seconds,
        &["phase"],
        "When the upgrade last reached a phase, since 1970",
        samples::reached,
    ),
    gauge(
        "upgrade_phase_duration",
        Measure::Seconds,
        &["phase"],
        "How long the upgrade worked in a phase, all visits together, the present one up to now; without waiting",
        samples::durations,
    ),
    gauge(
        "upgrade_working",
        Measure::Seconds,
        &[],
        "How long the upgrade worked since it began, without waiting",
        samples::working,
    ),
    gauge(
        "upgrade_waiting",
        Measure::Seconds,
        &[],
        "How long the upgrade waited for the maintenance window or the end of a pause",
        samples::waiting,
    ),
    gauge(
        "upgrade_cordoned",
        Measure::Seconds,
        &[],
        "How long the upgrade cordoned the node",
        samples::cordoned,
    ),
    gauge(
        "upgrade_drained",
        Measure::Seconds,
        &[],
        "How long the node was without its pods",
        samples::drained,
    ),
    gauge(
        "upgrade_not_ready",
        Measure::Seconds,
        &[],
        "How long the node was not Ready because of the upgrade's reboots",
        samples::not_ready,
    ),
    counter(
        "requests",
        &["outcome", "reason"],
        "Ended requests: upgraded, fell_back (after a trial boot), failed (before any), refused, halted",
        samples::requests,
    ),
    counter(
        "trial_boots",
        &[],
        "Trial boots of all ended upgrades",
        samples::all_trial_boots,
    ),
    gauge(
        "deployments",
        Measure::Count,
        &[],
        "Deployments in the boot menu",
        samples::deployments,
    ),
    gauge(
        "bad_images",
        Measure::Count,
        &[],
        "Images that failed here, which the agent tries again only on a new request",
        samples::bad_images,
    ),
    gauge(
        "free",
        Measure::Bytes,
        &["place"],
        "Free room for root on the file systems of the physical root and of /boot",
        samples::free,
    ),
    gauge(
        "boot_kernel",
        Measure::Bytes,
        &[],
        "The size of the running system's kernel and initramfs on /boot; the next ones need about as much",
        samples::boot_kernel,
    ),
];

const fn gauge(
    name: &'static str,
    measure: Measure,
    labels: &'static [&'static str],
    help: &'static str,
    samples: fn(&Shown) -> Vec<Sample>,
) -> Metric {
    Metric {
        name,
        kind: Kind::Gauge,
        measure,
        labels,
        help,
        samples,
    }
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    samples: fn(&Shown) -> Vec<Sample>,
) -> Metric {
    Metric {
        kind: Kind::Counter,
        ..gauge(name, Measure::Count, labels, help, samples)
    }
}

impl Metric {
    /// The name to query in Prometheus.
    #[must_use]
    pub fn full_name(&self) -> String {
        let unit = self.measure.suffix();
        let unit = unit.map_or_else(String::new, |unit| format!("_{unit}"));
        let total = match self.kind {
            Kind::Gauge => "",
            Kind::Counter => "_total",
        };
        format!("{PREFIX}_{}{unit}{total}", self.name)
    }

    fn encode(
        &self,
        samples: Vec<Sample>,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> std::fmt::Result {
        if samples.is_empty() {
            return Ok(());
        }
        let unit = self.measure.suffix();
        let unit = unit.map(|unit| Unit::Other(unit.to_owned()));
        let kind = match self.kind {
            Kind::Gauge => MetricType::Gauge,
            Kind::Counter => MetricType::Counter,
        };
        let mut metric = encoder.encode_descriptor(self.name, self.help, unit.as_ref(), kind)?;
        for sample in samples {
            let values = sample.labels.iter().map(String::as_str);
            let labels: Vec<_> = self.labels.iter().copied().zip(values).collect();
            if labels.is_empty() {
                self.encode_value(sample.value, &mut metric)?;
            } else {
                self.encode_value(sample.value, &mut metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn encode_value(&self, value: f64, encoder: &mut MetricEncoder<'_>) -> std::fmt::Result {
        match self.kind {
            Kind::Gauge => encoder.encode_gauge(&value),
            Kind::Counter => encoder.encode_counter::<NoLabelSet, _, u64>(&value, None),
        }
    }
}

impl Collector for Shown {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        TABLE
            .iter()
            .try_for_each(|metric| metric.encode((metric.samples)(self), &mut encoder))
    }
}

/// The metrics when the agent observed nothing: its build, and that it is stuck.
#[derive(Debug)]
struct Blind;

impl Collector for Blind {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        TABLE.iter().try_for_each(|metric| {
            let samples = match metric.name {
                "build_info" => samples::this_build(),
                "trouble" => samples::flag(true),
                _ => Vec::new(),
            };
            metric.encode(samples, &mut encoder)
        })
    }
}

/// The text that Prometheus reads.
#[must_use]
pub fn text(shown: &Shown) -> String {
    text_of(shown.clone())
}

/// The text that Prometheus reads when the agent observed nothing.
pub(super) fn blind() -> String {
    text_of(Blind)
}

fn text_of(collector: impl Collector) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(collector));
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = encode(&mut text, &registry);
    text
}

/// Renders the reference table as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text =
        String::from("| metric | kind | unit | labels | what it says |\n|---|---|---|---|---|\n");
    for metric in TABLE {
        let kind = match metric.kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        let labels: Vec<_> = metric
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        text += &format!(
            "| `{}` | {kind} | {} | {} | {} |\n",
            metric.full_name(),
            metric.measure.word(),
            labels.join(", "),
            metric.help
        );
    }
    text
}
