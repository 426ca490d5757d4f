//! What the shipped alerts and dashboard ask for is there to be asked for: a query for what nobody
//! serves is silent for ever.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../upgrade/tests/scene/reasons.rs"]
#[allow(dead_code)] // The brain's tests look up more than their names.
mod reasons;

use std::path::Path;

use agent::metrics::{PREFIX, TABLE};
use upgrade::Phase;

/// What the Node shows beside the phases of an upgrade.
const OTHER_PHASES: [&str; 2] = ["Idle", "Refused"];

/// Labels that Prometheus itself puts on what it reads.
const ITS_OWN: [&str; 2] = ["job", "instance"];

/// A metric that is asked for, and the values of labels that it is picked by.
struct Asked {
    name: String,
    labels: Vec<(String, Vec<String>)>,
}

fn read(file: &str) -> String {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    std::fs::read_to_string(Path::new(&here).join("../..").join(file)).unwrap()
}

/// All that the shipped files ask for, with the file.
fn asked() -> Vec<(&'static str, Asked)> {
    let files = ["alerts.yaml", "alerts_test.yaml", "dashboard.json"];
    let all = files.into_iter().flat_map(|file| {
        // JSON has queries with their quotes escaped.
        let text = read(&format!("packaging/monitoring/{file}"));
        let text = text.replace("\\\"", "\"");
        queries(&text).into_iter().map(move |asked| (file, asked))
    });
    all.collect()
}

fn queries(text: &str) -> Vec<Asked> {
    let begin = format!("{PREFIX}_");
    let found = text.split(&begin).skip(1).map(|rest| {
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let inside = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let labels = inside.map_or("", |(inside, _)| inside).split(',');
        Asked {
            name: begin.clone() + name,
            labels: labels.filter_map(label).collect(),
        }
    });
    found.collect()
}

/// Of `phase!~"Idle|Refused"` the label and the values.
fn label(text: &str) -> Option<(String, Vec<String>)> {
    let (label, rest) = text.split_once(['=', '!'])?;
    let values = rest.split('"').nth(1)?.split('|').map(str::to_owned);
    Some((label.trim().to_owned(), values.collect()))
}

#[test]
fn metrics_queried_by_alerts_and_dashboard_exist_with_labels() {
    let asked = asked();
    assert!(asked.len() > 80, "only {} were found", asked.len());
    for (file, Asked { name, labels }) in asked {
        let metric = TABLE.iter().find(|metric| metric.full_name() == name);
        let metric = metric.unwrap_or_else(|| panic!("{file} asks for {name}"));
        for (label, _) in labels {
            let label = label.as_str();
            let is_there = metric.labels.contains(&label) || ITS_OWN.contains(&label);
            assert!(is_there, "{file} picks {name} by {label}");
        }
    }
}

#[test]
fn every_phase_and_every_reason_that_they_name_there_is() {
    let codes: Vec<String> = reasons::all().iter().map(upgrade::Reason::code).collect();
    let phases: Vec<&str> = Phase::NAMES.into_iter().chain(OTHER_PHASES).collect();
    let mut named = 0;
    for (file, asked) in asked() {
        for (label, values) in asked.labels {
            for value in values {
                named += 1;
                match label.as_str() {
                    "phase" => assert!(phases.contains(&value.as_str()), "{file}: {value}"),
                    "reason" => assert!(codes.contains(&value), "{file}: {value}"),
                    _ => {}
                }
            }
        }
    }
    assert!(named > 80, "only {named}");
}

#[test]
fn alerts_and_docs_sections_match_one_to_one() {
    let begin_with = |text: &str, begin: &str| -> Vec<String> {
        let rest = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(begin));
        rest.map(str::to_owned).collect()
    };
    let alerts = read("packaging/monitoring/alerts.yaml");
    let names = begin_with(&alerts, "- alert: ");
    let leads = begin_with(&alerts, "runbook: docs/monitoring.md#");
    let sections = begin_with(&read("docs/monitoring.md"), "### Careen");
    let sections: Vec<_> = sections
        .iter()
        .map(|rest| format!("Careen{rest}"))
        .collect();
    assert_eq!(names, sections);
    let anchors: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(leads, anchors);
}

/// The text between the first marker and the next second one.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text
        .split_once(begin)
        .unwrap_or_else(|| panic!("no {begin}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

#[test]
fn the_scrape_configuration_in_the_docs_is_the_shipped_one() {
    let shipped = read("packaging/monitoring/scrape.yaml");
    let docs = read("docs/monitoring.md");
    let block = between(&docs, "```yaml\nscrape_configs:\n", "```");
    assert_eq!(format!("scrape_configs:\n{block}"), shipped);
}

#[test]
fn every_job_that_an_alert_or_a_panel_goes_by_is_scraped() {
    let scrape = read("packaging/monitoring/scrape.yaml");
    let jobs: Vec<_> = scrape
        .lines()
        .filter_map(|line| line.strip_prefix("- job_name: "))
        .collect();
    for file in ["alerts.yaml", "alerts_test.yaml", "dashboard.json"] {
        let text = read(&format!("packaging/monitoring/{file}")).replace("\\\"", "\"");
        let mut asked = text.split("job=\"").skip(1);
        let stranger = asked.find(|rest| !jobs.contains(&rest.split('"').next().unwrap()));
        assert_eq!(stranger, None, "{file}: only {jobs:?} are scraped");
    }
}

/// From the policy to Prometheus there are three addresses and a token, each written down at both
/// of its ends.
#[test]
fn proxy_and_scrape_addresses_match_the_docs() {
    let docs = read("docs/monitoring.md");
    let proxy = read("packaging/monitoring/agent-proxy.yaml");
    let scrape = read("packaging/monitoring/scrape.yaml");
    let listens = between(&docs, "[metrics]\nlisten = \"", "\"");
    assert_eq!(between(&proxy, "#   listen = \"", "\""), listens);
    assert_eq!(between(&proxy, "--upstream=http://", "/\n"), listens);
    let port = between(&proxy, "--secure-listen-address=[$(IP)]:", "\n");
    assert_eq!(between(&scrape, "replacement: '$1:", "'"), port);
    let audience = between(&proxy, "--auth-token-audiences=", "\n");
    assert_eq!(between(&docs, "{audience: ", ","), audience);
    let folder = between(&docs, "as a volume, at `", "`");
    let file = between(&docs, "path: ", "}");
    let token = between(&scrape, "{credentials_file: ", "}");
    assert_eq!(format!("{folder}/{file}"), token);
}
