//! What `explain` says is in the way of a request: a pause, a budget, a way back that is held up.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use serde_json::json;
use upgrade::names;

#[test]
fn a_pause_is_named_with_its_reason_and_how_to_lift_it() {
    let mut annotations = request("k-1");
    annotations[names::PAUSED] = json!("an audit");
    says(
        &annotated("worker-1", annotations),
        &[
            "requested, and paused",
            "paused: an audit",
            "kubectl careen resume worker-1 --any-reason",
        ],
    );
    let mut annotations = answer_to(
        "k-1",
        "InProgress",
        json!({ "phase": "Fetched", "percent": 15 }),
    );
    annotations[names::PAUSED] = json!("an audit");
    says(
        &annotated("worker-1", annotations),
        &["the upgrade under way waits where it is"],
    );
    let mut annotations = answer_to(
        "k-1",
        "InProgress",
        json!({ "phase": "Trial", "percent": 60 }),
    );
    annotations[names::PAUSED] = json!("an audit");
    says(&annotated("worker-1", annotations), &["and continues"]);
}

#[test]
fn explain_names_a_mistaken_pause_label_and_how_to_remove_it() {
    let label = json!({ "metadata": { "labels": { names::PAUSED: "backup" }, "annotations": request("k-1") } });
    says(
        &node("worker-1", label),
        &[
            "requested, and paused",
            "label careen.dev/paused (\"backup\") looks like a pause",
            "kubectl label node worker-1 careen.dev/paused-",
        ],
    );
}

#[test]
fn an_unknown_key_is_told_and_holds_nothing() {
    let mut annotations = request("k-1");
    annotations["careen.dev/images"] = json!("x");
    let text = told(&annotated("worker-1", annotations));
    assert!(
        text.contains("annotation careen.dev/images (annotation careen.dev/image"),
        "{text}"
    );
    assert!(!text.contains("paused"), "{text}");
}

#[test]
fn a_pause_hides_nothing_else_that_is_in_the_way() {
    let details = |phase: &str, code: &str| {
        let said =
            json!({ "phase": phase, "code": code, "reason": "a sentence", "paused": "an audit" });
        let mut annotations = answer_to("k-1", "InProgress", said);
        annotations[names::PAUSED] = json!("an audit");
        told(&annotated("worker-1", annotations))
    };
    assert!(!details("Fetched", "Paused").contains("in the way now"));
    assert!(details("Trial", "KubeadmFailed").contains("in the way now: a sentence"));
    assert!(
        details("Reverting", "Unhealthy")
            .contains("the node goes back to the old system: a sentence")
    );
}

#[test]
fn what_is_in_the_way_is_told_while_it_goes_on() {
    let details = json!({ "phase": "Deployed", "percent": 35, "code": "BudgetBlocks", "reason": "drain: PodDisruptionBudget shop/web" });
    let node = answered("worker-1", "InProgress", details);
    says(
        &node,
        &[
            "in the way now: drain: PodDisruptionBudget shop/web",
            "the drain waits as long as",
        ],
    );
    says(&node, &["upgrades here usually take 1m30s"]);
    let waited = json!([{ "phase": "Accepted", "at": NOW - 9_000, "waited": 8_950 }]);
    let waited = json!({ "phase": "Trial", "reached": waited });
    let text = told(&answered("a", "InProgress", waited));
    assert!(
        text.contains("of which waiting") && text.contains("2h29m"),
        "{text}"
    );
    assert!(!text.contains("upgrades here usually"), "{text}");
}

/// What a node says while it works, by phase and code.
fn hindered(phase: &str, code: &str) -> String {
    let details = json!({ "phase": phase, "percent": 35, "code": code, "reason": "a sentence" });
    told(&answered("worker-1", "InProgress", details))
}

#[test]
fn budget_blocking_a_drain_is_not_reported_as_a_failed_drain() {
    for phase in ["Verified", "Deployed"] {
        let text = hindered(phase, "BudgetBlocks");
        assert!(text.contains("in the way now"), "{text}");
        assert!(!text.contains("uncordoned"), "{text}");
        assert!(!text.contains("rebooted"), "{text}");
    }
}

#[test]
fn revert_cause_is_no_hindrance_and_its_advice_waits_for_failed() {
    for code in ["Unhealthy", "BudgetBlocks", "NoRoom"] {
        let text = hindered("Reverting", code);
        assert!(
            text.contains("the node goes back to the old system: a sentence"),
            "{text}"
        );
        assert!(text.contains("once the phase is Failed: "), "{text}");
    }
    let text = hindered("Reverting", "RecordUnwritten");
    assert!(text.contains("in the way now: a sentence"), "{text}");
    assert!(!text.contains("once the phase is Failed"), "{text}");
}

#[test]
fn explain_shows_a_revert_hindrance_beside_the_revert_cause() {
    let back = |code: &str, reason: &str| {
        let cause = json!({ "code": "Unhealthy", "reason": "the kubelet is silent" });
        let details =
            json!({ "phase": "Reverting", "code": code, "reason": reason, "revertsFor": cause });
        answered("worker-1", "InProgress", details)
    };
    let held_up = back("ArmFailed", "grubenv is read-only");
    says(
        &held_up,
        &[
            "the node goes back to the old system: the kubelet is silent",
            "once the phase is Failed: ",
            "in the way now: grubenv is read-only",
            "check the node's disk",
        ],
    );
    let text = told(&back("Unhealthy", "the kubelet is silent"));
    assert!(
        text.contains("the node goes back to the old system: the kubelet is silent"),
        "{text}"
    );
    assert!(!text.contains("in the way now"), "{text}");
}
