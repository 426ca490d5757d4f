//! The table of careen-provider's metrics in docs/monitoring.md names what it serves, and nothing else.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use provider::hooks::{Hook, Reply};
use provider::metrics::Metrics;

/// The text of `/metrics` once everything has been counted: what was never counted is not in it.
fn served() -> String {
    let metrics = Metrics::default();
    metrics.answered(Hook::Discovery, &Reply::refuse(400, "x"), Duration::ZERO);
    metrics.looked("x", Duration::ZERO);
    metrics.failed("x");
    metrics.uncovered(true);
    metrics.finished("x");
    metrics.cordoned(1, Duration::ZERO);
    let phase = vec![("phase", "x".to_owned())];
    metrics.gauges().phases.get_or_create(&phase).set(1);
    metrics.text()
}

/// The metrics of that text, as one asks for them.
fn names(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types
        .map(|line| match line.split_once(' ').unwrap() {
            (name, "counter") => format!("{name}_total"),
            (name, _) => name.to_owned(),
        })
        .collect()
}

/// Those of the table on the page.
fn documented() -> BTreeSet<String> {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let page = Path::new(&here).join("../../docs/monitoring.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, section) = text.split_once("\n## careen-provider\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let cells = section.lines().filter_map(|row| row.split('|').nth(1));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(|name| format!("careen_provider_{name}"))
        .collect()
}

#[test]
fn the_table_in_the_docs_names_what_is_served_and_nothing_else() {
    assert_eq!(documented(), names(&served()));
}

#[test]
fn nothing_is_registered_that_this_test_does_not_count() {
    let code = include_str!("../src/metrics.rs");
    let registered = code.matches("registry.register(").count();
    assert_eq!(names(&served()).len(), registered);
}
