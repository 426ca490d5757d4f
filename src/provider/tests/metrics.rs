//! The table of careen-provider's metrics in docs/monitoring.md names exactly what it serves, and
//! the shipped alerts and dashboard query only that.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use infrastructure::Why;
use provider::hooks::{Hook, HttpResponse, Refusal};
use provider::metrics::{HostCounts, Metrics, Operation, PoolCounts};
use requests::{EndedRequest, Outcome, Took};
use upgrade::Phase;

/// The text of `/metrics` once everything has been counted, because it does not contain what was
/// never counted.
fn served() -> String {
    count(&Metrics::default())
}

/// What `--infrastructure` adds to it.
fn served_of_hosts() -> BTreeSet<String> {
    let metrics = Metrics::default().with_hosts();
    metrics.hosts().show(&HostCounts::default());
    metrics.operations().took(Operation::Claim, Duration::ZERO);
    metrics.operations().trouble(&Why::NoOwner);
    metrics.pools().show("ns", "pool", &PoolCounts::default());
    let all = names(&count(&metrics));
    all.difference(&names(&served())).cloned().collect()
}

fn count(metrics: &Metrics) -> String {
    metrics.answered(
        Hook::Discovery,
        &HttpResponse::refuse(&Refusal::Method),
        Duration::ZERO,
    );
    metrics.looked("x", Duration::ZERO);
    metrics.failed("x");
    metrics.uncovered(true);
    metrics.finished("x");
    metrics.cordoned(1, Duration::ZERO);
    metrics.ended(&ended());
    let phase = vec![("phase", "x".to_owned())];
    metrics.gauges().phases.get_or_create(&phase).set(1);
    metrics.text()
}

fn ended() -> EndedRequest {
    EndedRequest {
        outcome: Outcome::Upgraded,
        reason: String::new(),
        at: 0,
        tries: 0,
        took: Took::default(),
        phases: Phase::NAMES.map(|_| Some(0)),
    }
}

/// The metrics of that text, by the names used in queries.
fn names(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types
        .map(|line| match line.split_once(' ').unwrap() {
            (name, "counter") => format!("{name}_total"),
            (name, _) => name.to_owned(),
        })
        .collect()
}

/// The metrics of the table of a section on a page.
fn documented(page: &str, title: &str) -> BTreeSet<String> {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let page = Path::new(&here).join("../../docs").join(page);
    let text = std::fs::read_to_string(page).unwrap();
    let (_, section) = text.split_once(&format!("\n## {title}\n")).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let cells = section.lines().filter_map(|row| row.split('|').nth(1));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(|name| format!("careen_provider_{name}"))
        .collect()
}

#[test]
fn the_table_in_the_docs_names_what_is_served_and_nothing_else() {
    let documented = documented("monitoring.md", "careen-provider");
    assert_eq!(documented, names(&served()));
}

#[test]
fn table_of_prepared_hosts_names_what_is_served() {
    let documented = documented("infrastructure.md", "Metrics");
    assert_eq!(documented, served_of_hosts());
}

#[test]
fn gauges_of_a_pool_go_with_it() {
    let metrics = Metrics::default().with_hosts();
    let counts = PoolCounts {
        wanted: 3,
        ready: 2,
        stopped: true,
        ..PoolCounts::default()
    };
    metrics.pools().show("fleet", "workers", &counts);
    let text = metrics.text();
    let pool = r#"pool="fleet/workers""#;
    for line in [
        format!(r#"pool_machines{{{pool},state="wanted"}} 3"#),
        format!(r#"pool_machines{{{pool},state="ready"}} 2"#),
        format!("pool_stopped{{{pool}}} 1"),
    ] {
        assert!(text.contains(&line), "{line} is not in {text}");
    }
    metrics.pools().forget("fleet", "workers");
    assert!(!metrics.text().contains("workers"));
}

#[test]
fn nothing_is_registered_that_this_test_does_not_count() {
    let code = [
        include_str!("../src/metrics.rs"),
        include_str!("../src/metrics/costs.rs"),
    ];
    let registered = code.map(|code| code.matches("registry.register(").count());
    assert_eq!(names(&served()).len(), registered.iter().sum::<usize>());
}

/// A query for a metric that nobody serves is silent for ever.
#[test]
fn alerts_and_dashboard_ask_for_what_is_served() {
    let mut served = names(&served());
    served.extend(served_of_hosts());
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let folder = Path::new(&here).join("../../packaging/monitoring");
    let mut asked = 0;
    let files = [
        "alerts.yaml",
        "alerts_test.yaml",
        "alerts_days_test.yaml",
        "dashboard.json",
    ];
    for file in files {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        for rest in text.split("careen_provider_").skip(1) {
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
            let name = format!("careen_provider_{}", &rest[..end]);
            let of_a_histogram = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix));
            let is_served = served.contains(of_a_histogram.unwrap_or(&name));
            assert!(is_served, "{file} asks for {name}");
            asked += 1;
        }
    }
    assert!(asked > 15, "only {asked}");
}

#[test]
fn dashboard_shows_each_metric_of_prepared_hosts() {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let file = Path::new(&here).join("../../packaging/monitoring/dashboard.json");
    let dashboard = std::fs::read_to_string(file).unwrap();
    for name in served_of_hosts() {
        assert!(dashboard.contains(&name), "no panel shows {name}");
    }
}
