//! The page about planning has every key of an answer.

use std::collections::BTreeSet;

use super::*;

/// A plan with everything in it. A new field does not compile without a value.
fn full() -> Plan {
    let some = || Some("x".to_owned());
    let change = Some(Change {
        from: some(),
        to: some(),
    });
    Plan {
        asked: image('b'),
        at: WALL,
        code: some(),
        reason: some(),
        failed_before: Some(Failure {
            code: "x".to_owned(),
            reason: some(),
        }),
        commit: Some(digest('b')),
        kubelet: change.clone(),
        kernel: change,
        packages: vec![package(1)],
        packages_left_out: 1,
        fetch_bytes: Some(1),
        etc_conflicts: vec!["/etc/x".to_owned()],
        etc_conflicts_left_out: 1,
        accounts: vec!["user x (998)".to_owned()],
        accounts_left_out: 1,
        room: vec![PlaceRoom::default()],
        kept_goes: true,
        unguarded: true,
        moving: vec!["shop/web-1".to_owned()],
        moving_left_out: 1,
        blocked: vec![Blocked::default()],
        blocked_left_out: 1,
        returning: vec!["shop/web-1".to_owned()],
        returning_left_out: 1,
        settings: vec!["x".to_owned()],
        settings_left_out: 1,
        control_plane: vec!["lock: free".to_owned()],
        control_plane_left_out: 1,
        expected_seconds: Some(1),
        window_seconds: Some(1),
        opens: some(),
        too_short: some(),
        clock_unset: Some("no time service".into()),
        paused: some(),
    }
}

/// The keys in the first column of the page's table.
fn told() -> BTreeSet<String> {
    let page = scene::page::read("plan.md");
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let first = cells.filter_map(|row| row.split(" |").next());
    let keys = first.flat_map(|cell| cell.split(','));
    keys.map(|key| key.trim_matches(['`', ' ']).to_owned())
        .collect()
}

#[test]
fn planning_page_documents_exactly_the_keys_of_a_plan() {
    let full = serde_json::to_value(full()).unwrap();
    let there: BTreeSet<_> = full.as_object().unwrap().keys().cloned().collect();
    assert_eq!(there, told());
}
