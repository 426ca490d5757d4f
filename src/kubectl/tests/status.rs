//! The table of nodes, on a terminal and in a pipe, and what programs get.
#![allow(clippy::unwrap_used)]

mod scene;

use kubectl::expected::Expected;
use kubectl::render::Look;
use kubectl::render::report;
use kubectl::render::status::{Around, screenful, status};
use kubectl::view::NodeView;
use scene::*;
use serde_json::json;
use upgrade::names;

fn nodes() -> Vec<NodeView> {
    let mut asked = json!({ "annotations": request("k-1") });
    let fields =
        json!({ "f:metadata": { "f:annotations": { format!("f:{}", names::REQUEST): {} } } });
    asked["managedFields"] = json!([{ "manager": "kubectl-careen", "time": "2025-11-22T08:20:00Z", "fieldsV1": fields }]);
    let mut held = request("k-1");
    held[names::PAUSED] = json!("an audit");
    let blocked = json!({
        "phase": "Deployed", "percent": 35, "code": "BudgetBlocks",
        "reason": "drain: PodDisruptionBudget shop/web does not allow evicting pod shop/web-1 (waited 60 s)",
    });
    let fetching = json!({ "phase": "Accepted", "percent": 7, "doing": "fetching 120 of 260 MiB", "toVersion": null });
    let mut history = answer_to("k-1", "Upgraded", json!({}));
    merge(&mut history, past(&[300, 370, 9_000_000]));
    let mut upgraded = json!({ "metadata": { "annotations": history } });
    merge(
        &mut upgraded,
        json!({ "status": { "nodeInfo": { "kubeletVersion": "v1.36.3" } } }),
    );
    vec![
        node("asked", json!({ "metadata": asked })),
        answered("blocked", "InProgress", blocked),
        failed(
            "failed",
            "Failed",
            "UserCheck",
            "required check disk failed: no /dev/sdb",
        ),
        answered("fetching", "InProgress", fetching),
        failed(
            "halted",
            "Halted",
            "UnknownSystem",
            "the booted deployment c is neither the old nor the new system of this upgrade",
        ),
        annotated("held", held),
        node("idle", json!({})),
        failed(
            "refused",
            "Refused",
            "BadPolicy",
            "/etc/careen/policy.toml line 3, column 1: trials is 0",
        ),
        working("trial", "Trial", 60),
        node("upgraded", upgraded),
    ]
}

fn shown(look: Look, wide: bool) -> String {
    let nodes = nodes();
    let expected = Expected::learn(&nodes);
    let nodes: Vec<&NodeView> = nodes.iter().collect();
    status(
        &nodes,
        Around {
            now: NOW,
            expected: &expected,
            wide,
            look,
        },
    )
}

#[test]
fn in_a_pipe_nothing_is_cut_and_no_bar_is_drawn() {
    golden("status.txt", &shown(Look::default(), false));
}

#[test]
fn on_a_terminal_there_are_bars_and_lines_fit() {
    let look = Look {
        width: Some(110),
        ..Look::default()
    };
    let text = shown(look, false);
    golden("status-terminal.txt", &text);
    assert!(
        text.lines().all(|line| line.chars().count() <= 110),
        "{text}"
    );
}

#[test]
fn wide_shows_what_was_asked_for() {
    golden("status-wide.txt", &shown(Look::default(), true));
}

#[test]
fn colours_say_how_it_is() {
    let look = Look {
        colour: true,
        width: Some(80),
        ..Look::default()
    };
    golden("status-colour.txt", &shown(look, false));
}

#[test]
fn a_small_screen_shows_first_what_needs_eyes() {
    let nodes = nodes();
    let nodes: Vec<&NodeView> = nodes.iter().collect();
    let look = Look {
        height: Some(6),
        ..Look::default()
    };
    let expected = Expected::default();
    let text = screenful(
        &nodes,
        Around {
            now: NOW,
            expected: &expected,
            wide: false,
            look,
        },
    );
    let first: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(first, ["NODE", "failed", "halted", "refused", "…"]);
}

#[test]
fn programs_get_the_same_as_data() {
    let nodes = nodes();
    let expected = Expected::learn(&nodes);
    let reports: Vec<_> = nodes
        .iter()
        .map(|node| report::of(node, NOW, &expected))
        .collect();
    golden(
        "status.json",
        &(serde_json::to_string_pretty(&reports).unwrap() + "\n"),
    );
}

#[test]
fn what_a_node_says_of_itself_cannot_steer_the_terminal() {
    let nasty = "gone\u{1b}[2J\u{1b}]0;owned\u{7}\nworker-2  Upgraded";
    let node = failed("worker-1", "Failed", nasty, nasty);
    let expected = Expected::default();
    let look = Look {
        width: Some(200),
        ..Look::default()
    };
    let text = status(
        &[&node],
        Around {
            now: NOW,
            expected: &expected,
            wide: true,
            look,
        },
    );
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{7}'),
        "{text:?}"
    );
}

#[test]
fn status_shows_the_remaining_time_until_an_upgrade_is_overdue() {
    let expected = Expected::learn([&annotated("a", past(&[370]))]);
    // It was taken 200 seconds ago.
    let node = working("worker-1", "Trial", 60);
    let shown = |now| {
        let around = Around {
            now,
            expected: &expected,
            wide: false,
            look: Look::default(),
        };
        let text = status(&[&node], around);
        let left = text.lines().nth(1).unwrap().split_whitespace().nth(4);
        (
            left.unwrap().to_owned(),
            report::of(&node, now, &expected).remaining_seconds,
        )
    };
    assert_eq!(shown(NOW), ("~2m50s".to_owned(), Some(170)));
    assert_eq!(shown(NOW + 170), ("over".to_owned(), Some(0)));
    assert_eq!(shown(NOW + 9000), ("over".to_owned(), Some(0)));
    let ended = failed("worker-1", "Failed", "UserCheck", "x");
    assert_eq!(expected.left(&ended, NOW), None);
    assert_eq!(Expected::default().left(&node, NOW), None);
}

#[test]
fn hours_that_a_node_waits_for_take_nothing_from_what_is_left() {
    let expected = Expected::learn([&annotated("a", past(&[370]))]);
    let mut accepted = reached("Accepted", 9_200);
    accepted["waited"] = json!(9_000);
    let reached = json!([accepted, reached("Deployed", 100)]);
    let works = json!({ "phase": "Deployed", "percent": 35, "reached": reached });
    let node = answered("a", "InProgress", works.clone());
    assert_eq!(expected.left(&node, NOW), Some(170));
    let mut waits = works;
    waits["waitingSince"] = json!(NOW);
    let node = answered("a", "InProgress", waits);
    assert_eq!(expected.left(&node, NOW + 50_000), Some(170), "it waits");
    let told = report::of(&node, NOW + 50_000, &expected);
    assert_eq!(
        (told.elapsed_seconds, told.waited_seconds),
        (Some(59_200), Some(59_000))
    );
}

#[test]
fn on_a_narrow_screen_the_time_left_outlives_the_expected_one() {
    let heads = |width| {
        let look = Look {
            width: Some(width),
            ..Look::default()
        };
        shown(look, false).lines().next().unwrap().to_owned()
    };
    let narrow = heads(90);
    assert!(
        narrow.contains("LEFT") && !narrow.contains("EXPECTED"),
        "{narrow}"
    );
}

#[test]
fn what_lasted_too_long_to_be_true_teaches_nothing() {
    let teacher = annotated("a", past(&[100, 200, 300, 9_000_000, 0]));
    assert_eq!(Expected::learn([&teacher]).seconds(), Some(200));
    assert_eq!(Expected::learn([&node("b", json!({}))]).seconds(), None);
}
