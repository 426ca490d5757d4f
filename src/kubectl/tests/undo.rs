//! Going back: where there is something to undo, and where not.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use kubectl::request::{Aim, Errand, Rollback, Turn};
use kubectl::view::NodeView;
use scene::*;
use serde_json::{Value, json};
use upgrade::names;

const OLD: &str = "ostree:site:edge/old";

fn errand(rollback: Rollback, named: bool) -> Errand {
    Errand {
        aim: Aim::Rollback(rollback),
        soak: None,
        named,
    }
}

/// What `rollback` does about a node that was named.
fn rollback(node: &NodeView) -> Turn {
    errand(Rollback::default(), true).decide(node, node).0
}

fn again(node: &NodeView) -> Turn {
    let again = Rollback {
        again: true,
        from: None,
    };
    errand(again, true).decide(node, node).0
}

/// A node that remembers these upgrades, the latest first and the one that is told.
fn with_a_past(name: &str, past: &[(&str, &str, u32)]) -> NodeView {
    let (image, answer, tries) = past[0];
    let id = |at: usize| format!("k-{}", past.len() - at);
    let one = |(at, (image, answer, tries)): (usize, &(&str, &str, u32))| json!({ "id": id(at), "answer": answer, "image": image, "began": NOW - 60, "ended": NOW, "tries": tries });
    let history: Vec<Value> = past.iter().enumerate().map(one).collect();
    let mut annotations = answer_to(&id(0), answer, json!({ "tries": tries }));
    annotations[names::IMAGE] = json!(image);
    annotations[names::HISTORY] = json!(Value::from(history).to_string());
    annotated(name, annotations)
}

fn is_refused(node: &NodeView, words: &str) -> bool {
    match rollback(node) {
        Turn::Refuse(why) => why.contains(words) && why.contains("`--again`"),
        Turn::Write | Turn::Join | Turn::Done(_) => false,
    }
}

#[test]
fn an_upgrade_that_went_well_is_undone() {
    assert_eq!(
        rollback(&with_a_past("a", &[(NEW, "Upgraded", 1)])),
        Turn::Write
    );
    let keeps_no_history = answered("a", "Upgraded", json!({}));
    assert_eq!(rollback(&keeps_no_history), Turn::Write);
}

/// It runs what it ran before, and keeps the system before that one: to go there is not to undo
/// what has failed.
#[test]
fn rollback_refuses_a_node_that_fell_back_or_never_upgraded() {
    let before = (OLD, "Upgraded", 1);
    for failed in [(NEW, "Failed", 1), (NEW, "Failed", 0)] {
        let node = with_a_past("a", &[failed, before]);
        assert!(
            is_refused(&node, "last upgrade failed"),
            "{:?}",
            rollback(&node)
        );
        assert_eq!(again(&node), Turn::Write, "it is meant");
    }
    let never = node("a", json!({}));
    assert!(is_refused(&never, "nothing was ever upgraded"));
    assert_eq!(again(&never), Turn::Write);
    let not_answered = annotated("a", request("k-1"));
    assert!(matches!(rollback(&not_answered), Turn::Refuse(_)));
}

/// What is kept then is the system that it went back from.
#[test]
fn rollback_refuses_a_reverted_node_whose_next_image_failed() {
    let back = (names::KEPT_IMAGE, "Upgraded", 1);
    let node = with_a_past("a", &[(NEW, "Failed", 1), back, (OLD, "Upgraded", 1)]);
    assert!(is_refused(&node, "last upgrade failed"));
    let runs_it = with_a_past("a", &[(NEW, "Upgraded", 0), back]);
    let turn = rollback(&runs_it);
    assert!(
        matches!(&turn, Turn::Done(why) if why.contains("gone back already")),
        "the image that runs was asked for, and nothing was done: {turn:?}"
    );
}

/// A person who is not sure that the first call went through asks again, and a script that runs
/// again does.
#[test]
fn repeated_rollback_does_not_go_forward_without_again() {
    let mut kept = answer_to("k-1", "Upgraded", json!({}));
    kept[names::IMAGE] = json!(names::KEPT_IMAGE);
    let node = annotated("a", kept.clone());
    let turn = rollback(&node);
    assert!(
        matches!(&turn, Turn::Done(why) if why.contains("--again")),
        "{turn:?}"
    );
    assert_eq!(again(&node), Turn::Write);
    kept[names::UPGRADE_ID] = json!("k-2");
    let not_answered = annotated("a", kept);
    for turn in [rollback(&not_answered), again(&not_answered)] {
        assert_eq!(turn, Turn::Join, "it is still to come");
    }
    let since = [(NEW, "Upgraded", 1), (names::KEPT_IMAGE, "Upgraded", 1)];
    assert_eq!(rollback(&with_a_past("a", &since)), Turn::Write);
}

#[test]
fn failed_rollback_is_repeated_and_undoes_the_same_upgrade() {
    let failed = (names::KEPT_IMAGE, "Failed", 1);
    let upgraded = with_a_past("a", &[failed, (NEW, "Upgraded", 1)]);
    assert_eq!(rollback(&upgraded), Turn::Write);
    let forward = with_a_past("a", &[failed, (names::KEPT_IMAGE, "Upgraded", 1)]);
    assert!(matches!(rollback(&forward), Turn::Done(_)));
    let mut told = answer_to("k-1", "Failed", json!({ "code": "UserCheck" }));
    told[names::IMAGE] = json!(names::KEPT_IMAGE);
    assert_eq!(rollback(&annotated("a", told)), Turn::Write);
}

#[test]
fn rollback_refuses_a_node_that_fell_back_by_itself() {
    let overtaken = answered("a", "Failed", json!({ "phase": "Upgraded" }));
    assert!(is_refused(&overtaken, "runs already"));
}

/// A rollout that stopped at the second node: the third was never asked, and its last upgrade was
/// the one before.
#[test]
fn rollback_by_label_asks_which_upgrade_when_nodes_differ() {
    let before = (OLD, "Upgraded", 1);
    let nodes = [
        with_a_past("a", &[(NEW, "Upgraded", 1), before]),
        with_a_past("b", &[(NEW, "Failed", 1), before]),
        with_a_past("c", &[before]),
    ];
    let selected = errand(Rollback::default(), false);
    let why = selected.is_clear(&nodes).unwrap_err();
    for words in ["--from", NEW, "(a)", OLD, "(c)"] {
        assert!(why.contains(words), "{why}");
    }
    assert!(errand(Rollback::default(), true).is_clear(&nodes).is_ok());

    let from = Rollback {
        again: false,
        from: Some(NEW.parse().unwrap()),
    };
    let selected = errand(from, false);
    assert!(selected.is_clear(&nodes).is_ok());
    let turns = nodes.each_ref().map(|node| selected.decide(node, node).0);
    assert_eq!(turns[0], Turn::Write);
    for left in &turns[1..] {
        assert!(
            matches!(left, Turn::Done(_)),
            "no fault of theirs: {left:?}"
        );
    }
}
