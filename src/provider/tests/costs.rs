//! What upgrades cost and why nodes fall back, as the management cluster's metrics show it from the
//! Nodes' own histories.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use kube::{Client, Config};
use provider::clusters::{Clusters, facts};
use provider::engine::{Machine, Mark};
use provider::machines::Machines;
use provider::queue::Queue;
use provider::settings::Settings;
use provider::world::World;
use requests::NodeFacts;
use serde_json::{Value, json};
use upgrade::names;

const ID: &str = "capi-0123456789abcdef";

/// A world that is only used to count.
fn world() -> World {
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let client = Client::try_from(config).unwrap();
    let (machines, queue) = (Machines::default(), Queue::default());
    let clusters = Clusters::new(client, machines.clone(), queue.clone());
    World::new(machines, clusters, queue, Settings::default())
}

/// A Machine with the mark of this request.
fn marked(id: &str) -> Machine {
    Machine {
        namespace: "t".into(),
        name: "m".into(),
        mark: Some(Mark {
            id: id.into(),
            ..Mark::default()
        }),
        ..Machine::default()
    }
}

/// The agent's entry for an upgrade that fell back after two trial boots.
fn fell_back() -> Value {
    json!({
        "id": ID, "answer": "Failed", "image": "ostree:site:os", "began": 1000, "ended": 2000, "tries": 2, "code": "Unhealthy",
        "reason": "the new system is not healthy", "seconds": { "working": 700, "waiting": 300, "cordoned": 400, "drained": 350, "notReady": 200 },
    })
}

fn fell_back_with(key: &str, value: Value) -> Value {
    let mut past = fell_back();
    past[key] = value;
    past
}

/// The Node once its agent has given its final answer.
fn node(history: &str, phase: &str) -> NodeFacts {
    let reached = [
        ("Accepted", 1000, 300),
        ("Armed", 1500, 0),
        ("Trial", 1600, 0),
        ("Armed", 1700, 0),
        ("Trial", 1750, 0),
        ("Failed", 2000, 0),
    ]
    .map(|(phase, at, waited)| json!({ "phase": phase, "at": at, "waited": waited }));
    let status =
        json!({ "id": ID, "phase": phase, "percent": 100, "tries": 2, "reached": reached });
    let annotations = json!({
        names::ANSWER: "Failed", names::STATUS: status.to_string(), names::HISTORY: history,
    });
    let object = json!({ "metadata": { "name": "n", "annotations": annotations }, "spec": {} });
    facts(serde_json::from_value(object).unwrap())
}

/// That Node with this as the first entry of its history.
fn with_past(past: &Value) -> NodeFacts {
    node(&json!([past]).to_string(), "Failed")
}

/// What is counted once the mark is removed from the Machines with these Nodes.
fn counted(nodes: &[NodeFacts]) -> String {
    let world = world();
    for node in nodes {
        world.ended(&marked(ID), Some(node));
    }
    world.metrics.text()
}

/// The lines about how requests ended.
fn ends(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter_map(|line| line.strip_prefix("careen_provider_requests_total"))
        .collect()
}

fn has(text: &str, line: &str) -> bool {
    text.lines()
        .any(|one| one.strip_prefix("careen_provider_") == Some(line))
}

#[tokio::test]
async fn fallback_is_counted_with_its_reason_boots_and_costs() {
    let text = counted(&[with_past(&fell_back())]);
    for line in [
        "requests_total{outcome=\"fell_back\",reason=\"Unhealthy\"} 1",
        "trial_boots_total 2",
        "upgrade_working_seconds_sum 700.0",
        "upgrade_waiting_seconds_sum 300.0",
        "upgrade_cordoned_seconds_sum 400.0",
        "upgrade_drained_seconds_sum 350.0",
        "upgrade_not_ready_seconds_sum 200.0",
        "upgrade_not_ready_seconds_bucket{le=\"120.0\"} 0",
        "upgrade_not_ready_seconds_bucket{le=\"300.0\"} 1",
    ] {
        assert!(has(&text, line), "{line} is not in {text}");
    }
}

#[tokio::test]
async fn a_phase_takes_all_its_visits_together_without_the_waiting() {
    let text = counted(&[with_past(&fell_back())]);
    for (phase, seconds) in [("Accepted", 200), ("Armed", 150), ("Trial", 350)] {
        let line = format!("upgrade_phase_seconds_sum{{phase=\"{phase}\"}} {seconds}.0");
        assert!(has(&text, &line), "{line} is not in {text}");
    }
    let of_others = ["Fetched", "Failed", "Upgraded"].map(|phase| format!("phase=\"{phase}\""));
    assert!(!of_others.iter().any(|label| text.contains(label)));
}

#[tokio::test]
async fn how_it_ended_is_told_apart_as_on_the_node() {
    let upgraded =
        json!({ "id": ID, "answer": "Upgraded", "image": "x", "began": 1, "ended": 2, "tries": 1 });
    let before_any_trial = fell_back_with("tries", json!(0));
    for (past, phase, labels) in [
        (
            &upgraded,
            "Upgraded",
            "{outcome=\"upgraded\",reason=\"\"} 1",
        ),
        (
            &before_any_trial,
            "Failed",
            "{outcome=\"failed\",reason=\"Unhealthy\"} 1",
        ),
        (
            &before_any_trial,
            "Refused",
            "{outcome=\"refused\",reason=\"Unhealthy\"} 1",
        ),
        (
            &fell_back(),
            "Halted",
            "{outcome=\"halted\",reason=\"Unhealthy\"} 1",
        ),
    ] {
        let text = counted(&[node(&json!([past]).to_string(), phase)]);
        assert_eq!(ends(&text), [labels]);
    }
}

#[tokio::test]
async fn a_history_of_another_request_counts_nothing() {
    let others = fell_back_with("id", json!("capi-fedcba9876543210"));
    assert_eq!(with_past(&others).ended, None);
    let world = world();
    let of_this = with_past(&fell_back());
    world.ended(&marked("capi-fedcba9876543210"), Some(&of_this));
    world.ended(&marked(ID), None);
    world.ended(&Machine::default(), Some(&of_this));
    assert!(ends(&world.metrics.text()).is_empty());
}

#[tokio::test]
async fn each_end_is_counted_once_despite_repeated_marks() {
    let first = with_past(&fell_back());
    let asked_again = with_past(&fell_back_with("ended", json!(9000)));
    let text = counted(&[first.clone(), first, asked_again]);
    assert_eq!(
        ends(&text),
        ["{outcome=\"fell_back\",reason=\"Unhealthy\"} 2"]
    );
}

#[tokio::test]
async fn what_is_no_history_is_dropped() {
    let first_alone = json!([fell_back(), "and this is none"]).to_string();
    assert!(node(&first_alone, "Failed").ended.is_some());
    let too_long = json!([fell_back(), "x".repeat(100_000)]).to_string();
    for history in ["", "null", "{}", "[]", "[null]", "[[]]", too_long.as_str()] {
        assert_eq!(node(history, "Failed").ended, None, "{history:.20}");
    }
    for (key, value) in [
        ("tries", json!(-1)),
        ("tries", json!(4_000_000_000_u32)),
        ("tries", json!("2")),
        ("ended", json!(-5)),
        ("answer", json!("InProgress")),
        ("answer", json!("Sunk")),
        ("seconds", json!({ "working": -700 })),
        ("seconds", json!({ "working": "NaN" })),
        ("seconds", json!({ "working": 1e300 })),
    ] {
        let past = fell_back_with(key, value);
        assert_eq!(with_past(&past).ended, None, "{past}");
    }
}

#[tokio::test]
async fn impossible_duration_is_skipped_and_the_others_count() {
    let seconds = json!({ "working": u64::MAX, "waiting": 1_800_000_000, "cordoned": 400 });
    let text = counted(&[with_past(&fell_back_with("seconds", seconds))]);
    for line in [
        "upgrade_working_seconds_count 0",
        "upgrade_waiting_seconds_count 0",
        "upgrade_cordoned_seconds_sum 400.0",
        "requests_total{outcome=\"fell_back\",reason=\"Unhealthy\"} 1",
    ] {
        assert!(has(&text, line), "{line} is not in {text}");
    }
}

/// A node may write anything, and each label of a metric is kept for the life of the process.
#[tokio::test]
async fn whatever_a_node_calls_its_reason_it_makes_no_label_of_it() {
    let node = |number: u64| {
        let mut past = fell_back_with("code", json!(format!("Reason{number}")));
        past["ended"] = json!(number);
        with_past(&past)
    };
    let text = counted(&(0..50).map(node).collect::<Vec<_>>());
    assert_eq!(ends(&text), ["{outcome=\"fell_back\",reason=\"Other\"} 50"]);
}

/// The page has them from the variants themselves.
fn codes() -> Vec<String> {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let page = Path::new(&here).join("../../docs/reasons.md");
    let text = std::fs::read_to_string(page).unwrap();
    let rows = text.lines().filter_map(|row| row.strip_prefix("| [`"));
    let codes = rows.filter_map(|row| row.split_once('`'));
    codes.map(|(code, _)| code.to_owned()).collect()
}

#[tokio::test]
async fn every_reason_that_an_agent_gives_is_a_label_of_its_own() {
    let codes = codes();
    assert!(codes.len() > 50, "only {codes:?}");
    for code in codes.iter().filter(|code| *code != "Unheard") {
        let ended = with_past(&fell_back_with("code", json!(code))).ended;
        assert_eq!(&ended.unwrap().reason, code);
    }
}

#[tokio::test]
async fn a_clock_that_went_back_in_a_phase_says_nothing_of_that_phase() {
    let reached = [
        ("Accepted", 1000),
        ("Fetched", 1100),
        ("Trial", 500),
        ("Failed", 900),
    ];
    let reached = reached.map(|(phase, at)| json!({ "phase": phase, "at": at }));
    let status =
        json!({ "id": ID, "phase": "Failed", "percent": 100, "tries": 2, "reached": reached });
    let annotations = json!({
        names::ANSWER: "Failed", names::STATUS: status.to_string(), names::HISTORY: json!([fell_back()]).to_string(),
    });
    let object = json!({ "metadata": { "name": "n", "annotations": annotations }, "spec": {} });
    let text = counted(&[facts(serde_json::from_value(object).unwrap())]);
    assert!(has(
        &text,
        "upgrade_phase_seconds_sum{phase=\"Accepted\"} 100.0"
    ));
    assert!(has(
        &text,
        "upgrade_phase_seconds_sum{phase=\"Trial\"} 400.0"
    ));
    assert!(!text.contains("phase=\"Fetched\""));
}
