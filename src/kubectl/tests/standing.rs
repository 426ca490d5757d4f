//! Where a node stands, and what may be written to it.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kubectl::duration::Span;
use kubectl::request::{self, Turn, Wish};
use kubectl::standing::{Fate, Standing};
use kubectl::view::NodeView;
use scene::*;
use serde_json::{Value, json};
use upgrade::names;

/// What it wishes of one that has not changed.
fn retry(node: &NodeView) -> Option<Wish> {
    retry_of(node, node).1
}

#[test]
fn an_answer_to_an_older_request_is_no_answer() {
    let old = answer_to("k-1", "Failed", json!({}));
    let node = annotated("a", with(old, names::UPGRADE_ID, "k-2"));
    assert_eq!(Standing::of(&node), Standing::Asked);
    let paused = with(request("k-2"), names::PAUSED, "an audit");
    assert_eq!(Standing::of(&annotated("a", paused)), Standing::Held);
}

/// What has become of request `k-2` on a node that last answered `k-1`.
fn fate(annotations: Value) -> Fate {
    Fate::of(&annotated("a", annotations), Some("k-2"))
}

#[test]
fn answer_to_another_request_does_not_settle_this_one() {
    for old in ["Upgraded", "Failed"] {
        let answered = answer_to("k-1", old, json!({}));
        let stands = with(answered.clone(), names::UPGRADE_ID, "k-2");
        assert_eq!(fate(stands), Fate::Open);
        assert_eq!(fate(answered.clone()), Fate::Dropped, "another stands");
        let taken_back = without(without(answered, names::UPGRADE_ID), names::REQUEST);
        assert_eq!(fate(taken_back), Fate::Dropped);
    }
    assert_eq!(fate(json!({})), Fate::Dropped);
}

#[test]
fn served_request_keeps_its_fate_when_replaced_or_withdrawn() {
    let later = |answer| {
        with(
            answer_to("k-2", answer, json!({})),
            names::UPGRADE_ID,
            "k-3",
        )
    };
    assert_eq!(fate(later("InProgress")), Fate::Open);
    assert_eq!(fate(later("Upgraded")), Fate::Well);
    assert_eq!(fate(later("Failed")), Fate::Badly);
    let taken_back = |answer| without(later(answer), names::REQUEST);
    assert_eq!(fate(taken_back("InProgress")), Fate::Open);
    assert_eq!(fate(taken_back("Failed")), Fate::Badly);
}

#[test]
fn a_request_whose_answer_has_gone_by_is_found_in_the_history() {
    let past = json!([{ "id": "k-2", "answer": "Upgraded", "image": NEW, "began": 1, "ended": 2 }]);
    let next = answer_to("k-3", "InProgress", json!({ "phase": "Fetched" }));
    assert_eq!(
        fate(with(next, names::HISTORY, &past.to_string())),
        Fate::Well
    );
}

#[test]
fn an_upgrade_under_way_is_seen_behind_a_newer_request() {
    let old = answer_to("k-1", "InProgress", json!({ "phase": "Trial" }));
    let node = annotated("a", with(old, names::UPGRADE_ID, "k-2"));
    assert_eq!(Standing::of(&node), Standing::Working);
}

#[test]
fn a_request_without_an_id_is_believed_to_be_answered() {
    let node = annotated(
        "a",
        without(answer_to("r1-aa", "Upgraded", json!({})), names::UPGRADE_ID),
    );
    assert_eq!(Standing::of(&node), Standing::Upgraded);
}

/// A node that answered `k-1` for this image so, with or without that in its history, on which by
/// hand the new one is set.
fn by_hand(image: &str, answer: &str, history: bool) -> Value {
    let past = json!([{ "id": "k-1", "answer": answer, "image": image, "began": 1, "ended": 2, "tries": 1 }]);
    let answered = answer_to("k-1", answer, json!({ "to": "c".repeat(64) }));
    match history {
        true => with(answered, names::HISTORY, &past.to_string()),
        false => answered,
    }
}

/// The id of the request before stays on the Node where nobody takes it off, and the agent may be
/// held or silent.
#[test]
fn hand_set_image_counts_as_asked_and_not_as_answered() {
    let before = NEW.replace("bbbb", "cccc");
    for (answer, history) in [("Upgraded", true), ("Failed", true), ("Upgraded", false)] {
        let beside_the_id = by_hand(&before, answer, history);
        let without_an_id = without(beside_the_id.clone(), names::UPGRADE_ID);
        for asked in [beside_the_id, without_an_id] {
            let node = annotated("a", asked.clone());
            assert_eq!(Standing::of(&node), Standing::Asked, "{answer}, {history}");
            assert_eq!(request::upgrade(&node, &wish()), Turn::Join);
            let held = annotated("a", with(asked, names::PAUSED, "an audit"));
            assert_eq!(Standing::of(&held), Standing::Held);
        }
    }
    let by_ref = with(
        by_hand(&before, "Upgraded", true),
        names::IMAGE,
        "ostree:site:edge/b",
    );
    assert_eq!(Standing::of(&annotated("a", by_ref)), Standing::Asked);
}

#[test]
fn an_image_that_was_set_by_hand_and_served_is_answered() {
    for history in [true, false] {
        let served = answer_to("k-1", "Upgraded", json!({ "to": "b".repeat(64) }));
        let mut node = by_hand(NEW, "Upgraded", history);
        merge(&mut node, served);
        assert_eq!(
            Standing::of(&annotated("a", node.clone())),
            Standing::Upgraded
        );
        let no_id = annotated("a", without(node, names::UPGRADE_ID));
        assert_eq!(Standing::of(&no_id), Standing::Upgraded);
    }
    let again = json!({ "phase": "Trial", "to": "b".repeat(64) });
    let mut under_way = by_hand("ostree:site:edge/old", "Upgraded", true);
    merge(&mut under_way, answer_to("k-1", "InProgress", again));
    assert_eq!(
        request::upgrade(&annotated("a", under_way), &wish()),
        Turn::Join,
        "it is this one that is under way, by the id of the one before"
    );
}

#[test]
fn refusal_without_an_id_answers_only_a_malformed_id() {
    let refused = |id: &str| {
        let details = json!({ "id": null, "phase": "Refused" });
        Standing::of(&annotated(
            "a",
            with(answer_to("x", "Failed", details), names::UPGRADE_ID, id),
        ))
    };
    assert_eq!(refused("../etc"), Standing::Refused);
    assert_eq!(
        refused("k-2"),
        Standing::Asked,
        "the refusal was of an older request"
    );
}

#[test]
fn a_record_that_cannot_be_read_halts_whatever_is_asked() {
    let details = json!({ "id": null, "phase": "Halted" });
    let node = annotated(
        "a",
        with(answer_to("x", "Failed", details), names::UPGRADE_ID, "k-2"),
    );
    assert_eq!(Standing::of(&node), Standing::Halted);
}

#[test]
fn the_same_again_is_joined_while_it_is_under_way() {
    assert_eq!(
        request::upgrade(&working("a", "Trial", 60), &wish()),
        Turn::Join
    );
    assert_eq!(
        request::upgrade(&annotated("a", request("k-1")), &wish()),
        Turn::Join
    );
}

#[test]
fn another_upgrade_under_way_is_not_disturbed() {
    let turn = request::upgrade(&working("a", "Fetched", 15), &other_image());
    assert!(
        matches!(&turn, Turn::Refuse(why) if why.contains("under way (Fetched, 15 %)")),
        "{turn:?}"
    );
}

#[test]
fn an_upgrade_does_not_repeat_what_has_failed_and_a_retry_does() {
    let node = failed("a", "Failed", "UserCheck", "required check disk failed");
    let turn = request::upgrade(&node, &wish());
    assert!(
        matches!(&turn, Turn::Refuse(why) if why.contains("kubectl careen retry a")),
        "{turn:?}"
    );
    assert_eq!(request::upgrade(&node, &other_image()), Turn::Write);
    let again = retry(&node).unwrap();
    assert_eq!(again.image, NEW);
    assert_eq!(request::upgrade(&node, &again), Turn::Write);
}

/// A node that runs another image by now, with a history of `image`, the latest first.
fn with_a_past(past: &[(&str, &str, u32)]) -> NodeView {
    let one = |(image, answer, tries): &(&str, &str, u32)| json!({ "answer": answer, "image": image, "began": NOW - 60, "ended": NOW, "tries": tries, "code": "Unhealthy" });
    let good = json!({ "answer": "Upgraded", "image": other_image().image, "began": NOW, "ended": NOW, "tries": 1 });
    let past: Vec<Value> = std::iter::once(good).chain(past.iter().map(one)).collect();
    let answered = answer_to("k-3", "Upgraded", json!({}));
    let answered = with(answered, names::IMAGE, &other_image().image);
    annotated(
        "a",
        with(answered, names::HISTORY, &Value::from(past).to_string()),
    )
}

fn is_refused(node: &NodeView, image: &str) -> bool {
    let wish = Wish {
        image: image.to_owned(),
        ..wish()
    };
    matches!(request::upgrade(node, &wish), Turn::Refuse(_))
}

#[test]
fn upgrade_refuses_a_failed_image_despite_a_later_success() {
    let node = with_a_past(&[(NEW, "Failed", 1)]);
    let Turn::Refuse(why) = request::upgrade(&node, &wish()) else {
        panic!("it would be drained and tried again")
    };
    for part in ["2025-11-22 08:26:40Z", "Unhealthy", "`--again`"] {
        assert!(why.contains(part), "{why}");
    }
    assert!(
        retry(&node).is_none(),
        "so it is not `retry` that is advised: {why}"
    );
    let again = Wish {
        despite_failure: true,
        ..wish()
    };
    assert_eq!(request::upgrade(&node, &again), Turn::Write);
    assert_eq!(request::upgrade(&node, &Wish::kept()), Turn::Write);
}

#[test]
fn failed_image_matches_by_commit_or_digest_from_any_source() {
    let commit = "b".repeat(64);
    let elsewhere = format!("ostree:mirror:edge/b@{commit}");
    let node = with_a_past(&[(NEW, "Failed", 1)]);
    assert!(is_refused(&node, &elsewhere));
    assert!(
        !is_refused(&node, "ostree:site:edge/stable"),
        "it may lead elsewhere by now"
    );
    assert!(!is_refused(&node, &NEW.replace('b', "c")), "a fixed one");

    let digest = "c".repeat(64);
    let wrapped = |host: &str| format!("docker://{host}/os@sha256:{digest}");
    let node = with_a_past(&[(&wrapped("r.example.com"), "Failed", 1)]);
    assert!(is_refused(&node, &wrapped("mirror.example.com")));
    assert!(is_refused(
        &node,
        &format!("{}@{commit}", wrapped("r.example.com"))
    ));
    let other = format!("docker://r.example.com/os@sha256:{}", "d".repeat(64));
    assert!(!is_refused(&node, &other));
}

/// Whether a ref leads elsewhere by now only the remote knows: who has published a fixed image
/// names its commit.
#[test]
fn failed_ref_is_refused_and_a_named_commit_is_accepted() {
    let by_ref = "ostree:site:edge/stable";
    let node = with_a_past(&[(by_ref, "Failed", 1)]);
    assert!(is_refused(&node, by_ref));
    assert!(!is_refused(&node, NEW));
}

#[test]
fn what_went_well_since_or_never_came_to_a_trial_is_asked_for() {
    let upgraded_since = [(NEW, "Upgraded", 1), (NEW, "Failed", 1)];
    assert!(!is_refused(&with_a_past(&upgraded_since), NEW));
    assert!(!is_refused(&with_a_past(&[(NEW, "Failed", 0)]), NEW));
    let held_up_since = [(NEW, "Failed", 0), (NEW, "Failed", 1)];
    assert!(is_refused(&with_a_past(&held_up_since), NEW));
}

#[test]
fn upgrade_is_done_when_the_container_digest_already_runs() {
    let image = format!("docker://r.example.com/os@sha256:{}", "c".repeat(64));
    let wish = Wish {
        image: image.clone(),
        ..wish()
    };
    let details = json!({ "to": "b".repeat(64) });
    let asked = |answer| {
        with(
            answer_to("k-1", answer, details.clone()),
            names::IMAGE,
            &image,
        )
    };
    let runs = annotated("a", asked("Upgraded"));
    assert!(matches!(request::upgrade(&runs, &wish), Turn::Done(_)));

    let other_commit = Wish {
        image: format!("{image}@{}", "d".repeat(64)),
        ..wish
    };
    assert_eq!(request::upgrade(&runs, &other_commit), Turn::Write);
    let asked = with(asked("Upgraded"), names::IMAGE, &other_commit.image);
    let node = annotated("a", asked);
    let turn = request::upgrade(&node, &other_commit);
    assert_eq!(turn, Turn::Join, "it is asked for, and not answered");
}

#[test]
fn a_pinned_image_that_runs_is_not_asked_for_and_a_ref_is() {
    let to = "b".repeat(64);
    let node = answered("a", "Upgraded", json!({ "to": to }));
    assert!(matches!(request::upgrade(&node, &wish()), Turn::Done(_)));
    let by_ref = with(
        answer_to("k-1", "Upgraded", json!({ "to": to })),
        names::IMAGE,
        "ostree:site:edge/next",
    );
    assert_eq!(
        request::upgrade(&annotated("a", by_ref), &other_image()),
        Turn::Write
    );
}

#[test]
fn request_patches_only_our_annotations_at_the_read_revision() {
    let id = "k-2".parse().unwrap();
    let patch = request::asking(&node("a", json!({})), &wish(), &id);
    let expected = json!({ "metadata": {
        "uid": "u",
        "resourceVersion": "7",
        "annotations": {
            names::REQUEST: names::REQUEST_SCHEDULED,
            names::IMAGE: NEW,
            names::KUBERNETES_VERSION: null,
            names::UPGRADE_ID: "k-2",
            names::SOAK: null,
        },
    } });
    assert_eq!(patch, expected);
}

fn soaking(seconds: u64) -> Wish {
    wish().soaking(Some(Span(Duration::from_secs(seconds))))
}

/// It would go on for the next person who asks, and who does not know of it.
#[test]
fn soak_is_cleared_by_other_requests_and_kept_by_a_retry() {
    let soak = |patch: Value| patch["metadata"]["annotations"][names::SOAK].clone();
    let id = "k-2".parse().unwrap();
    let left = with(answer_to("k-1", "Failed", json!({})), names::SOAK, "600");
    let node = annotated("a", left);
    let patch = |wish: &Wish| soak(request::asking(&node, wish, &id));
    assert_eq!(patch(&other_image()), Value::Null);
    assert_eq!(patch(&Wish::kept()), Value::Null);
    assert_eq!(patch(&soaking(3600)), "3600", "an annotation is a text");
    assert_eq!(soak(request::withdrawing(&node)), Value::Null);

    let again = retry(&node).unwrap();
    assert_eq!(
        patch(&again),
        "600",
        "it is the same that is asked for again"
    );
    let longer = again.soaking(Some(Span(Duration::from_secs(900))));
    assert_eq!(patch(&longer), "900");
}

#[test]
fn a_request_that_is_to_soak_otherwise_is_not_joined() {
    let asked = annotated("a", request("k-1"));
    assert_eq!(request::upgrade(&asked, &soaking(600)), Turn::Write);
    let soaks = annotated("a", with(request("k-1"), names::SOAK, "600"));
    assert_eq!(request::upgrade(&soaks, &soaking(600)), Turn::Join);
    assert_eq!(request::upgrade(&soaks, &wish()), Turn::Write);
    let turn = request::upgrade(&working("a", "Trial", 60), &soaking(600));
    assert!(matches!(turn, Turn::Refuse(_)), "{turn:?}");
    let runs = answered("a", "Upgraded", json!({ "to": "b".repeat(64) }));
    let turn = request::upgrade(&runs, &soaking(600));
    assert!(matches!(turn, Turn::Done(_)), "{turn:?}");
}

#[test]
fn request_ids_encode_their_time_and_differ_by_millisecond() {
    let at = |millisecond: i64| {
        let now = Timestamp::from_millisecond(1_763_800_000_007 + millisecond).unwrap();
        request::new_id(now).unwrap().to_string()
    };
    assert_eq!(at(0), "k-20251122T082640-007");
    assert_ne!(at(0), at(1));
}
