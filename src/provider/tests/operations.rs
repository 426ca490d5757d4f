//! The metrics of prepared hosts: what is counted is served, and docs/infrastructure.md names it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use provider::metrics::{HostCounts, Metrics};

fn counted() -> String {
    let metrics = Metrics::default().with_hosts();
    metrics.hosts().show(&HostCounts::default());
    let operations = metrics.operations();
    operations.joined(100);
    operations.released(-5);
    operations.looked("CareenHost", Duration::from_millis(2));
    operations.failed("CareenMachine", "conflict");
    metrics.text()
}

#[test]
fn durations_and_errors_of_hosts_are_served() {
    let text = counted();
    for line in [
        "careen_provider_machine_join_seconds_sum 100.0",
        "careen_provider_machine_join_seconds_count 1",
        "careen_provider_machine_release_seconds_sum 0.0",
        "careen_provider_provision_seconds_count{kind=\"CareenHost\"} 1",
        "careen_provider_provision_errors_total{kind=\"CareenMachine\",class=\"conflict\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

/// The names of the metrics as they are used in queries, without the prefix.
fn names(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let named = types.map(|line| match line.split_once(' ').unwrap() {
        (name, "counter") => format!("{name}_total"),
        (name, _) => name.to_owned(),
    });
    let short = named.map(|name| name.strip_prefix("careen_provider_").unwrap().to_owned());
    short.collect()
}

fn documented() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/infrastructure.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, section) = text.split_once("\n## Metrics\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let cells = section.lines().filter_map(|row| row.split('|').nth(1));
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted.map(str::to_owned).collect()
}

#[test]
fn table_names_the_metrics_of_hosts_and_nothing_else() {
    let others = names(&Metrics::default().text());
    let with_hosts = names(&counted());
    let ours: BTreeSet<_> = with_hosts.difference(&others).cloned().collect();
    assert_eq!(documented(), ours);
}
