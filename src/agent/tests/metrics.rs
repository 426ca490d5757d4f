//! What the metrics say: each value comes from the record and from what is seen, so it is the same
//! in every boot.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../upgrade/tests/scene/mod.rs"]
mod scene;

use std::path::Path;

use agent::metrics::{Disk, Linked, Measure, Shown, TABLE, reference, text};
use scene::*;
use upgrade::bill::{Now, Stopwatch};
use upgrade::record::Reached;
use upgrade::*;

fn shown(record: Record, seen: Observation) -> Shown {
    Shown {
        read: Ok(record),
        seen,
        link: Some(Linked {
            reached: true,
            paused: false,
        }),
        policy: Ok(Policy::default()),
        trouble: false,
        disk: Disk {
            root_free: Some(5_000_000_000),
            boot_free: Some(100_000_000),
            boot_kernel: Some(60_000_000),
        },
    }
}

/// A policy file that does not hold.
fn refused() -> PolicyRead {
    let reason = Reason::BadPolicy {
        file: names::POLICY_FILE.into(),
        line: 1,
        column: 1,
        detail: "x".into(),
    };
    Err(reason.into())
}

/// The value of one line.
fn value(text: &str, name: &str) -> Option<f64> {
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    rest.map(|value| value.parse().unwrap())
}

fn has(text: &str, name: &str, expected: f64) {
    assert_eq!(value(text, name), Some(expected), "{name} in\n{text}");
}

fn reached(phase: &str, at: u64) -> Reached {
    let phase = phase.to_owned();
    Reached {
        phase,
        at: WALL + at,
        waited: 0,
    }
}

fn watch(seconds: u64) -> Stopwatch {
    Stopwatch {
        seconds,
        since: None,
    }
}

/// Fell back for a bad check after two trial boots.
fn fallen() -> Record {
    let reason = Reason::Unhealthy {
        check: "kubelet".into(),
        detail: "x".into(),
        seconds: 600,
        cause: upgrade::Cause::Image,
    };
    let code = reason.code();
    let mut record = upgrade_in(Phase::Failed { reason });
    let up = record.upgrade.as_mut().unwrap();
    up.attempt.tries = 2;
    up.reached = vec![
        reached("Accepted", 0),
        reached("Fetched", 60),
        reached("Drained", 100),
        reached("Trial", 160),
        reached("Drained", 400),
        reached("Trial", 410),
        reached("Failed", 1_000),
    ];
    (up.bill.cordoned, up.bill.drained, up.bill.not_ready) = (watch(900), watch(880), watch(90));
    record.tally.fell_back.insert(code, 1);
    record.tally.upgraded = 7;
    record.tally.trial_boots = 9;
    record
}

#[test]
fn the_phase_is_a_set_of_states_of_which_one_is_on() {
    for phase in phases() {
        let name = phase.name();
        let text = text(&shown(upgrade_in(phase), quiet()));
        let states = text
            .lines()
            .filter(|line| line.starts_with("careen_agent_phase{"));
        let on: Vec<_> = states
            .clone()
            .filter(|line| line.ends_with(" 1.0"))
            .collect();
        assert_eq!((states.count(), on.len()), (15, 1), "{text}");
        assert!(on[0].contains(name), "{on:?}");
    }
}

#[test]
fn a_node_that_was_never_asked_is_idle_and_shows_no_upgrade() {
    let text = text(&shown(Record::default(), quiet()));
    has(&text, "careen_agent_phase{phase=\"Idle\"}", 1.0);
    has(
        &text,
        "careen_agent_requests_total{outcome=\"upgraded\",reason=\"\"}",
        0.0,
    );
    assert!(!text.contains("careen_agent_upgrade_"), "{text}");
}

#[test]
fn a_record_that_cannot_be_read_is_halted_with_its_reason() {
    let mut shown = shown(Record::default(), quiet());
    shown.read = Err(Reason::RecordDamaged { detail: "x".into() });
    let text = text(&shown);
    has(&text, "careen_agent_phase{phase=\"Halted\"}", 1.0);
    has(
        &text,
        "careen_agent_reason_info{reason=\"RecordDamaged\"}",
        1.0,
    );
    assert!(
        !text.contains("careen_agent_requests"),
        "not known, not zero"
    );
}

#[test]
fn the_bill_the_tries_and_the_reason_of_a_fall_back_are_shown() {
    let text = text(&shown(fallen(), quiet()));
    has(&text, "careen_agent_reason_info{reason=\"Unhealthy\"}", 1.0);
    has(&text, "careen_agent_upgrade_trial_boots", 2.0);
    has(&text, "careen_agent_upgrade_cordoned_seconds", 900.0);
    has(&text, "careen_agent_cordoned", 0.0);
    has(&text, "careen_agent_upgrade_drained_seconds", 880.0);
    has(&text, "careen_agent_upgrade_not_ready_seconds", 90.0);
    has(
        &text,
        "careen_agent_requests_total{outcome=\"fell_back\",reason=\"Unhealthy\"}",
        1.0,
    );
    has(
        &text,
        "careen_agent_requests_total{outcome=\"upgraded\",reason=\"\"}",
        7.0,
    );
    has(&text, "careen_agent_trial_boots_total", 9.0);
}

#[test]
fn all_visits_to_a_phase_are_added_up() {
    let text = text(&shown(fallen(), quiet()));
    let of = |phase: &str| {
        value(
            &text,
            &format!("careen_agent_upgrade_phase_duration_seconds{{phase=\"{phase}\"}}"),
        )
    };
    let found = ["Accepted", "Drained", "Trial", "Failed"].map(of);
    assert_eq!(
        found,
        [Some(60.0), Some(70.0), Some(830.0), None],
        "an end takes no time"
    );
    let at = "careen_agent_upgrade_phase_reached_timestamp_seconds{phase=\"Trial\"}";
    let last = (WALL + 410) as f64;
    has(&text, at, last);
}

#[test]
fn a_night_that_is_waited_for_is_no_work_of_its_phase() {
    let mut record = upgrade_in(Phase::Deployed);
    let up = record.upgrade.as_mut().unwrap();
    up.reached = vec![reached("Accepted", 0), reached("Deployed", 40_000)];
    up.reached[0].waited = 39_900;
    up.bill.waiting = watch(39_900);
    let seen = quiet().with(|seen| seen.turn.wall = WALL + 40_020);
    let text = text(&shown(record, seen));
    let of =
        |phase: &str| format!("careen_agent_upgrade_phase_duration_seconds{{phase=\"{phase}\"}}");
    has(&text, &of("Accepted"), 100.0);
    has(&text, &of("Deployed"), 20.0);
    has(&text, "careen_agent_upgrade_working_seconds", 120.0);
    has(&text, "careen_agent_upgrade_waiting_seconds", 39_900.0);
}

#[test]
fn while_it_waits_only_the_waiting_grows() {
    let mut record = upgrade_in(Phase::Accepted);
    let up = record.upgrade.as_mut().unwrap();
    up.reached = vec![reached("Accepted", 0)];
    let waits = quiet().with(|seen| {
        seen.turn.now = quiet().turn.now.plus_seconds(10);
        seen.turn.wall = WALL + 10;
    });
    up.bill.waiting.start(Now::from(&waits));
    let later = waits.with(|seen| {
        seen.turn.now = seen.turn.now.plus_seconds(7_200);
        seen.turn.wall += 7_200;
    });
    let text = text(&shown(record, later));
    has(&text, "careen_agent_upgrade_working_seconds", 10.0);
    has(&text, "careen_agent_upgrade_waiting_seconds", 7_200.0);
}

#[test]
fn the_present_phase_and_a_running_watch_go_up_to_now() {
    let mut record = upgrade_in(Phase::Drained);
    let up = record.upgrade.as_mut().unwrap();
    up.reached = vec![reached("Drained", 0)];
    let before = quiet();
    let now = Now {
        boot: &before.turn.boot,
        at: before.turn.now,
        wall: before.turn.wall,
    };
    up.bill.cordoned.start(now);
    let later = quiet().with(|seen| {
        seen.turn.now = before.turn.now.plus_seconds(30);
        seen.turn.wall = WALL + 30;
    });
    let text = text(&shown(record, later));
    has(
        &text,
        "careen_agent_upgrade_phase_duration_seconds{phase=\"Drained\"}",
        30.0,
    );
    has(&text, "careen_agent_upgrade_cordoned_seconds", 30.0);
    has(&text, "careen_agent_cordoned", 1.0);
}

#[test]
fn after_a_reboot_the_record_alone_says_the_same() {
    let bytes = serde_json::to_vec(&fallen()).unwrap();
    let read: Record = serde_json::from_slice(&bytes).unwrap();
    let other_boot = quiet().with(|seen| {
        seen.turn.boot = boot(9);
        seen.turn.now = SinceBoot(5);
    });
    assert_eq!(
        text(&shown(read, other_boot)),
        text(&shown(fallen(), quiet()))
    );
}

#[test]
fn what_is_not_known_is_left_out() {
    let mut shown = shown(Record::default(), quiet());
    (shown.link, shown.disk) = (None, Disk::default());
    let text = text(&shown);
    for name in ["api_reached", "paused", "free_bytes", "boot_kernel"] {
        assert!(
            !text.contains(&format!("careen_agent_{name}")),
            "{name}:\n{text}"
        );
    }
}

#[test]
fn room_deployments_and_policy_are_shown() {
    let mut shown = shown(Record::default(), on_trial());
    shown.policy = refused();
    let text = text(&shown);
    has(
        &text,
        "careen_agent_free_bytes{place=\"boot\"}",
        100_000_000.0,
    );
    has(
        &text,
        "careen_agent_free_bytes{place=\"root\"}",
        5_000_000_000.0,
    );
    has(&text, "careen_agent_boot_kernel_bytes", 60_000_000.0);
    has(&text, "careen_agent_deployments", 2.0);
    has(&text, "careen_agent_policy_valid", 0.0);
}

#[test]
fn the_operators_hours_are_shown_with_their_next_change() {
    let mut shown = shown(Record::default(), quiet());
    let (open, changes) = (
        "careen_agent_window_open",
        "careen_agent_window_changes_timestamp_seconds",
    );
    let always = text(&shown);
    has(&always, open, 1.0);
    assert_eq!(value(&always, changes), None, "no hours, no change");
    let mut policy = Policy::default();
    // 2027-01-15, 08:00 UTC, is WALL.
    policy.window.open = vec!["daily 02:00-04:00".parse().unwrap()];
    shown.policy = Ok(policy);
    let closed = text(&shown);
    has(&closed, open, 0.0);
    has(&closed, changes, (WALL + 18 * 3600) as f64);
    shown.seen.turn.wall = WALL + 19 * 3600;
    let within = text(&shown);
    has(&within, open, 1.0);
    has(&within, changes, (WALL + 20 * 3600) as f64);
}

#[test]
fn hours_of_an_unset_clock_are_closed_and_do_not_change() {
    let mut shown = shown(Record::default(), quiet());
    shown.seen.turn.clock_set = false;
    let mut policy = Policy::default();
    policy.window.open = vec!["daily 00:00-24:00".parse().unwrap()];
    for (trusted, open) in [(false, 0.0), (true, 1.0)] {
        policy.window.trust_clock = trusted;
        shown.policy = Ok(policy.clone());
        let text = text(&shown);
        has(&text, "careen_agent_window_open", open);
        let changes = value(&text, "careen_agent_window_changes_timestamp_seconds");
        assert_eq!(changes.is_some(), trusted);
    }
}

#[test]
fn every_value_has_the_labels_that_the_table_says() {
    let shown = shown(fallen(), quiet());
    for metric in TABLE {
        for sample in (metric.samples)(&shown) {
            assert_eq!(sample.labels.len(), metric.labels.len(), "{}", metric.name);
        }
    }
}

#[test]
fn names_follow_the_conventions_of_prometheus() {
    let names: Vec<_> = TABLE.iter().map(|metric| metric.full_name()).collect();
    for name in &names {
        let well = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(name.chars().all(well), "{name}");
        assert_eq!(
            names.iter().filter(|other| *other == name).count(),
            1,
            "{name}"
        );
    }
}

/// A flag that is served as 2, or a ratio of 60, is one that every alert on it misreads.
#[test]
fn every_value_is_of_the_unit_that_the_table_says() {
    for phase in phases() {
        let shown = shown(upgrade_in(phase), quiet());
        for metric in TABLE {
            for sample in (metric.samples)(&shown) {
                let (name, value) = (metric.full_name(), sample.value);
                match metric.measure {
                    Measure::Flag => assert!([0.0, 1.0].contains(&value), "{name}: {value}"),
                    Measure::Ratio => assert!((0.0..=1.0).contains(&value), "{name}: {value}"),
                    Measure::Count | Measure::Bytes => {
                        assert!(value >= 0.0 && value.fract() == 0.0, "{name}: {value}");
                    }
                    Measure::Seconds => assert!(value >= 0.0, "{name}: {value}"),
                }
            }
        }
    }
}

#[test]
fn the_table_of_metrics_in_the_docs_is_the_one_in_the_code() {
    let rendered = format!(
        "# Metrics of careen-agent\n\nRendered from `src/agent/src/metrics/table.rs`; how to have them: [monitoring.md](monitoring.md). A\nmetric of which nothing is known is absent, not zero. `upgrade_*` are of the upgrade under way, or\nof the last one.\n\n{}",
        reference()
    );
    let path =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../docs/metrics.md");
    if std::env::var_os("CAREEN_BLESS").is_some() {
        std::fs::write(&path, &rendered).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, rendered,
        "docs/metrics.md has drifted: run CAREEN_BLESS=1 cargo test -p careen-agent --test metrics"
    );
}
