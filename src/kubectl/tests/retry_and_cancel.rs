//! Which nodes `retry` asks once more, and until when `cancel` takes a request back.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use kubectl::request::{self, Aim, Errand, Turn};
use kubectl::view::NodeView;
use scene::*;
use serde_json::json;
use upgrade::names;

#[test]
fn only_what_has_failed_and_still_stands_can_be_retried() {
    let refused = |node: &NodeView| match retry_of(node, node) {
        (Turn::Refuse(why), None) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(&working("a", "Trial", 60)).contains("under way"));
    assert!(refused(&answered("a", "Upgraded", json!({}))).contains("nothing has failed"));
    assert!(refused(&annotated("a", request("k-1"))).contains("not answered yet"));
    let gone = without(
        answer_to("k-1", "Failed", json!({ "code": "Withdrawn" })),
        names::REQUEST,
    );
    assert!(refused(&annotated("a", gone)).contains("has been withdrawn"));
}

/// The API server lets the first of two writers through, and a rollout of many nodes takes hours.
#[test]
fn a_retry_is_of_the_request_that_failed_when_it_was_said_and_of_no_other() {
    let first = failed("a", "Failed", "UserCheck", "x");
    assert_eq!(retry_of(&first, &first).0, Turn::Write);
    let newer = answer_to("k-2", "Failed", json!({ "code": "UserCheck" }));
    let others = [
        with(request("k-2"), names::IMAGE, &other_image().image),
        request("k-2"),
        with(newer.clone(), names::IMAGE, &other_image().image),
        newer.clone(),
        with(newer, names::KUBERNETES_VERSION, "v1.36.3"),
        answer_to("k-2", "InProgress", json!({ "phase": "Fetched" })),
        answer_to("k-2", "Upgraded", json!({})),
    ];
    for other in others {
        let (turn, wish) = retry_of(&first, &annotated("a", other.clone()));
        assert!(matches!(turn, Turn::Refuse(_)), "{turn:?}: {other}");
        assert_eq!(wish, None);
    }
}

#[test]
fn of_nodes_that_labels_select_those_on_which_nothing_failed_are_no_fault() {
    let selected = Errand {
        aim: Aim::Retry,
        soak: None,
        named: false,
    };
    for node in [node("a", json!({})), answered("a", "Upgraded", json!({}))] {
        let (turn, _) = selected.decide(&node, &node);
        assert!(matches!(turn, Turn::Done(_)), "{turn:?}");
        assert!(matches!(retry_of(&node, &node).0, Turn::Refuse(_)));
    }
    let busy = working("a", "Trial", 60);
    let (turn, _) = selected.decide(&busy, &busy);
    assert!(matches!(turn, Turn::Refuse(_)), "{turn:?}");
}

#[test]
fn a_request_can_be_taken_back_until_the_node_is_armed() {
    assert_eq!(
        request::cancel(&annotated("a", request("k-1"))),
        Turn::Write
    );
    assert_eq!(request::cancel(&working("a", "Drained", 50)), Turn::Write);
    let turn = request::cancel(&working("a", "Armed", 55));
    assert!(
        matches!(&turn, Turn::Refuse(why) if why.starts_with("too late")),
        "{turn:?}"
    );
    assert!(matches!(
        request::cancel(&node("a", json!({}))),
        Turn::Done(_)
    ));
}

#[test]
fn what_has_ended_is_not_taken_back_or_the_agent_would_forget_the_bad_image() {
    let node = failed("a", "Failed", "UserCheck", "x");
    assert!(matches!(request::cancel(&node), Turn::Done(_)));
}

#[test]
fn a_request_that_waits_behind_an_armed_upgrade_can_be_taken_back() {
    let old = answer_to("k-1", "InProgress", json!({ "phase": "Trial" }));
    let node = annotated("a", with(old, names::UPGRADE_ID, "k-2"));
    assert_eq!(request::cancel(&node), Turn::Write);
}
