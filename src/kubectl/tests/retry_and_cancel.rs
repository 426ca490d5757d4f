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
fn retry_refuses_when_the_failed_request_was_replaced() {
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
fn retry_by_label_skips_nodes_without_a_failure() {
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
fn cancel_does_not_withdraw_an_ended_request() {
    let node = failed("a", "Failed", "UserCheck", "x");
    assert!(matches!(request::cancel(&node), Turn::Done(_)));
}

#[test]
fn cancel_withdraws_a_request_queued_after_an_armed_upgrade() {
    let old = answer_to("k-1", "InProgress", json!({ "phase": "Trial" }));
    let node = annotated("a", with(old, names::UPGRADE_ID, "k-2"));
    assert_eq!(request::cancel(&node), Turn::Write);
}
