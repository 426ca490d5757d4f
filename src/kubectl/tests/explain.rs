//! Why a node is where it is, and what to do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use kubectl::diagnose;
use kubectl::expected::Expected;
use kubectl::render::status::{Around, status};
use kubectl::render::{Look, explain, report};
use kubectl::view::{NodeView, Ready};
use scene::*;
use serde_json::{Value, json};
use upgrade::names;

/// `Ready` is this, since half past seven.
fn ready(status: &str) -> Value {
    let ready =
        json!({ "type": "Ready", "status": status, "lastTransitionTime": "2025-11-22T07:30:00Z" });
    json!({ "status": { "conditions": [ready] } })
}

fn asked_at(time: &str, change: Value) -> NodeView {
    let fields =
        json!({ "f:metadata": { "f:annotations": { format!("f:{}", names::REQUEST): {} } } });
    let mut node_change = json!({
        "metadata": {
            "annotations": request("k-1"),
            "managedFields": [{ "manager": "kubectl-careen", "time": time, "fieldsV1": fields }],
        },
    });
    merge(&mut node_change, change);
    node("worker-1", node_change)
}

#[test]
fn a_failure_is_told_with_its_reason_and_the_way_on() {
    let node = failed(
        "worker-1",
        "Failed",
        "UserCheck",
        "required check disk failed: no /dev/sdb",
    );
    golden("explain-failed.txt", &told(&node));
}

#[test]
fn a_halt_names_the_cordon_that_is_left() {
    let details = json!({ "phase": "Halted", "code": "UnknownSystem", "reason": "the booted deployment c is neither" });
    let mut annotations = answer_to("k-1", "Failed", details);
    annotations[names::CORDONED_BY] = json!("k-1");
    let change =
        json!({ "metadata": { "annotations": annotations }, "spec": { "unschedulable": true } });
    golden("explain-halted.txt", &told(&node("worker-1", change)));
}

#[test]
fn a_trial_that_is_away_is_no_alarm() {
    let annotations = answer_to(
        "k-1",
        "InProgress",
        json!({ "phase": "Trial", "percent": 60 }),
    );
    let mut change = json!({ "metadata": { "annotations": annotations } });
    merge(&mut change, ready("Unknown"));
    golden("explain-trial.txt", &told(&node("worker-1", change)));
}

#[test]
fn hand_set_image_is_not_called_proven_before_an_answer() {
    let past = json!([{ "id": "k-1", "answer": "Upgraded", "image": "ostree:site:edge/old", "began": 1, "ended": 2, "tries": 1 }]);
    let mut annotations = answer_to("k-1", "Upgraded", json!({}));
    annotations[names::HISTORY] = json!(past.to_string());
    let node = annotated("worker-1", annotations);
    assert!(!told(&node).contains("proven"), "{}", told(&node));
    says(&node, &["requested, not answered yet"]);
}

fn runbook(node: &NodeView) -> Option<String> {
    diagnose::explain(node, NOW, &Expected::default()).runbook
}

#[test]
fn what_is_in_the_way_leads_to_the_runbook_as_a_failure_does() {
    let details = json!({ "phase": "Deployed", "code": "BudgetBlocks", "reason": "a budget" });
    let change = json!({ "metadata": { "annotations": answer_to("k-1", "InProgress", details) } });
    let section = runbook(&node("worker-1", change)).unwrap();
    assert!(
        section.contains("PodDisruptionBudget") && section.contains("**Do:**"),
        "{section}"
    );
}

#[test]
fn the_runbook_is_read_on_a_screen_without_a_second_window() {
    let node = failed("worker-1", "Failed", "UserCheck", "x");
    let explanation = diagnose::explain(&node, NOW, &Expected::default());
    let look = Look {
        width: Some(60),
        ..Look::default()
    };
    let text = explain::explain(&explanation, look);
    let (_, section) = text.split_once("\nthe runbook:\n").unwrap();
    assert!(
        section.contains("  Do: fix the image or the check"),
        "{text}"
    );
    assert!(
        section.lines().all(|line| line.chars().count() <= 60),
        "{section}"
    );
}

#[test]
fn a_code_that_this_version_does_not_know_leads_nowhere() {
    assert_eq!(runbook(&failed("a", "Failed", "Mystery](x", "?")), None);
}

#[test]
fn unanswered_request_does_not_link_to_the_last_reason() {
    let mut annotations = answer_to(
        "k-1",
        "Failed",
        json!({ "phase": "Failed", "code": "Unhealthy", "reason": "x" }),
    );
    annotations[names::UPGRADE_ID] = json!("k-2");
    let change = json!({ "metadata": { "annotations": annotations } });
    assert_eq!(runbook(&node("worker-1", change)), None);
}

#[test]
fn on_a_terminal_long_sentences_are_wrapped() {
    let node = failed(
        "worker-1",
        "Failed",
        "UserCheck",
        "required check disk failed: no /dev/sdb",
    );
    let look = Look {
        width: Some(60),
        ..Look::default()
    };
    let text = explain::explain(&diagnose::explain(&node, NOW, &Expected::default()), look);
    let prose = text.lines().filter(|line| !line.contains("ostree:"));
    assert!(
        prose.clone().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    assert!(prose.count() > 8, "{text}");
}

#[test]
fn times_are_told_with_the_clock_that_they_are_from() {
    let told = |node: &NodeView| {
        let explained = diagnose::explain(node, NOW, &Expected::default());
        let facts = explained.facts.into_iter();
        let times = facts.filter(|fact| ["asked", "taken"].contains(&fact.name));
        times
            .map(|fact| (fact.name, fact.value))
            .collect::<Vec<_>>()
    };
    let open = told(&asked_at("2025-11-22T08:26:30Z", json!({})));
    let [("asked", asked)] = &open[..] else {
        panic!("{open:?}")
    };
    assert!(asked.ends_with("by the API server's clock"), "{asked}");
    let unknown = told(&node(
        "worker-1",
        json!({ "metadata": { "annotations": request("k-1") } }),
    ));
    let [("asked", asked)] = &unknown[..] else {
        panic!("{unknown:?}")
    };
    assert!(asked.starts_with("not known"), "{asked}");
    // The requester's field manager has written again since.
    let answered = told(&failed("worker-1", "Failed", "UserCheck", "x"));
    let [("taken", taken)] = &answered[..] else {
        panic!("{answered:?}")
    };
    assert!(taken.ends_with("by the node's clock"), "{taken}");
}

#[test]
fn node_that_is_away_is_not_said_to_be_about_to_reboot() {
    let armed = |ready: Ready| {
        let mut node = working("worker-1", "Armed", 55);
        node.ready = ready;
        diagnose::explain(&node, NOW, &Expected::default()).headline
    };
    assert!(armed(Ready::Yes).contains("the node is about to reboot"));
    for away in [Ready::Unknown(None), Ready::No(None)] {
        let told = armed(away);
        assert!(told.contains("the node is away, in its trial"), "{told}");
        assert!(!told.contains("about to reboot"), "{told}");
    }
}

#[test]
fn who_has_just_been_asked_is_given_time() {
    says(
        &asked_at("2025-11-22T08:26:30Z", json!({})),
        &["written just now"],
    );
}

/// What an agent says of itself that cannot write its record: nothing is answered, or what was
/// before stays.
fn unwritten(heard: &str, mut annotations: Value) -> NodeView {
    let ours = json!({
        "type": names::CONDITION, "status": "False", "reason": "RecordUnwritten",
        "message": "the record cannot be written: record.a.new: No space left on device", "lastHeartbeatTime": heard,
    });
    let ready = json!({ "type": "Ready", "status": "True" });
    if annotations[names::STATUS].is_null() {
        let idle = json!({ "phase": "Idle", "percent": 0, "tries": 0, "reached": [] });
        annotations[names::STATUS] = json!(idle.to_string());
    }
    let change = json!({
        "metadata": { "annotations": annotations },
        "status": { "conditions": [ready, ours] },
    });
    asked_at("2025-11-22T08:20:00Z", change)
}

#[test]
fn why_a_request_is_not_taken_is_told_where_the_agent_says_it() {
    let mut after_another = answer_to("k-0", "Upgraded", json!({}));
    after_another[names::UPGRADE_ID] = json!("k-1");
    for annotations in [json!({}), after_another] {
        let node = unwritten("2025-11-22T08:20:02Z", annotations);
        says(
            &node,
            &[
                "RecordUnwritten",
                "No space left on device",
                "df -h /sysroot",
            ],
        );
        let text = told(&node);
        for wrong in ["has not answered", "systemctl status"] {
            assert!(!text.contains(wrong), "{text}");
        }
        assert!(runbook(&node).is_some());
        let expected = Expected::default();
        let report = report::of(&node, NOW, &expected);
        assert_eq!(report.code.as_deref(), Some("RecordUnwritten"));
        let around = Around {
            now: NOW,
            expected: &expected,
            wide: false,
            look: Look::default(),
        };
        let table = status(&[&node], around);
        assert!(table.contains("No space left"), "{table}");
    }
}

#[test]
fn reason_older_than_the_request_is_shown_as_the_last_message() {
    let node = unwritten("2025-11-21T08:20:02Z", json!({}));
    says(
        &node,
        &[
            "has not answered for 6m40s",
            "its last message was RecordUnwritten",
            "df -h",
            "systemctl status",
        ],
    );
    assert_eq!(report::of(&node, NOW, &Expected::default()).code, None);
}

/// Where nothing is in the way the condition repeats the answer to the request before.
#[test]
fn condition_of_an_earlier_request_does_not_hinder_this_one() {
    let failed = json!({ "phase": "Failed", "code": "UserCheck", "reason": "x" });
    let mut annotations = answer_to("k-0", "Failed", failed);
    annotations[names::UPGRADE_ID] = json!("k-1");
    for word in ["UserCheck", "Failed", "Upgraded", "Paused"] {
        let mut ours = json!({ "status": { "conditions": [{ "type": names::CONDITION, "status": "False", "reason": word, "message": "x" }] } });
        ours["status"]["conditions"][0]["lastHeartbeatTime"] = json!("2025-11-22T08:20:01Z");
        merge(
            &mut ours,
            json!({ "metadata": { "annotations": annotations } }),
        );
        let node = asked_at("2025-11-22T08:20:00Z", ours);
        let text = told(&node);
        assert!(text.contains("has not answered"), "{word}: {text}");
        assert!(!text.contains("last message was"), "{word}: {text}");
    }
}

#[test]
fn an_agent_that_never_wrote_is_told_from_one_that_has_stopped() {
    let never = asked_at("2025-11-22T08:20:00Z", json!({}));
    says(
        &never,
        &["has not answered for 6m40s", "no agent has ever written"],
    );
    let ours = json!({ "type": names::CONDITION, "status": "False", "lastHeartbeatTime": "2025-11-20T08:20:00Z" });
    let ready = json!({ "type": "Ready", "status": "True" });
    let stopped = asked_at(
        "2025-11-22T08:20:00Z",
        json!({ "status": { "conditions": [ready, ours] } }),
    );
    says(
        &stopped,
        &["an agent ran here before", "journalctl -u careen-agent"],
    );
    let away = asked_at("2025-11-22T08:20:00Z", ready_unknown());
    says(
        &away,
        &[
            "its kubelet is silent too",
            "has not reported since 2025-11-22 07:30:00Z",
        ],
    );
}

fn ready_unknown() -> Value {
    ready("Unknown")
}

#[test]
fn fallback_after_an_upgrade_is_not_proven_and_advises_a_reboot() {
    let node = failed(
        "worker-1",
        "Upgraded",
        "ForeignDefault",
        "the default deployment is b",
    );
    let text = told(&node);
    assert!(
        text.starts_with("worker-1: Failed: it was upgraded, but the earlier system runs again"),
        "{text}"
    );
    assert!(!text.contains("proven"), "{text}");
    says(&node, &["reboot into it", "ostree admin undeploy 0"]);
    let refused = failed("worker-1", "Refused", "ForeignDefault", "x");
    assert!(!told(&refused).contains("reboot into it"));
}

#[test]
fn a_cordon_of_others_is_left_to_them() {
    let change = json!({ "spec": { "unschedulable": true } });
    says(
        &node("worker-1", change),
        &["cordoned by something other than Careen"],
    );
    let mut annotations = answer_to("k-1", "InProgress", json!({ "phase": "Drained" }));
    annotations[names::CORDONED_BY] = json!("k-1");
    let change =
        json!({ "metadata": { "annotations": annotations }, "spec": { "unschedulable": true } });
    says(
        &node("worker-1", change),
        &["cordoned by this upgrade, which removes the cordon"],
    );
}

#[test]
fn refusal_attributes_a_leftover_cordon_to_the_halted_upgrade() {
    let refused = json!({ "phase": "Refused", "code": "BadRequest", "reason": "x" });
    let mut annotations = answer_to("k-2", "Failed", refused);
    annotations[names::CORDONED_BY] = json!("k-1");
    let change =
        json!({ "metadata": { "annotations": annotations }, "spec": { "unschedulable": true } });
    let node = node("worker-1", change);
    says(
        &node,
        &[
            "cordoned by upgrade k-1, which left the cordon",
            "the next accepted request removes it, as `kubectl uncordon worker-1` does",
        ],
    );
    assert!(!told(&node).contains("other than Careen"));
}

#[test]
fn explain_reports_queued_requests_and_late_withdrawals() {
    let mut annotations = answer_to("k-1", "InProgress", json!({ "phase": "Fetched" }));
    annotations[names::UPGRADE_ID] = json!("k-2");
    says(
        &annotated("worker-1", annotations),
        &["newer than the upgrade under way"],
    );
    let mut annotations = answer_to("k-1", "InProgress", json!({ "phase": "Trial" }));
    annotations.as_object_mut().unwrap().remove(names::REQUEST);
    says(&annotated("worker-1", annotations), &["withdrawn too late"]);
}

#[test]
fn a_system_that_somebody_else_booted_since_is_noticed() {
    let node = answered("worker-1", "Upgraded", json!({}));
    says(
        &node,
        &["its kubelet is v1.35.4, though the upgrade brought v1.36.3"],
    );
}

#[test]
fn what_makes_no_sense_is_named_as_such() {
    let garbled = annotated(
        "worker-1",
        json!({ names::STATUS: "{", names::ANSWER: "InProgress" }),
    );
    says(&garbled, &["careen.dev/status cannot be read"]);
    let mut annotations = request("k-1");
    annotations[names::IMAGE] = json!("docker.io/os:latest");
    says(
        &annotated("worker-1", annotations),
        &["a form that this version does not know", "; use "],
    );
    let mut annotations = request("k-1");
    annotations[names::IMAGE] = json!(names::KEPT_IMAGE);
    assert!(!told(&annotated("worker-1", annotations)).contains("a form that this version"));
}

#[test]
fn a_node_of_which_nothing_was_asked_says_how_to_ask() {
    says(
        &node("worker-1", json!({})),
        &[
            "no upgrade was requested",
            "kubectl careen upgrade worker-1",
        ],
    );
}

#[test]
fn a_node_of_a_machine_is_asked_there() {
    let node = annotated(
        "worker-1",
        json!({ "cluster.x-k8s.io/machine": "site-7xk2p" }),
    );
    says(
        &node,
        &[
            "belongs to Machine site-7xk2p",
            "the page about Cluster API",
        ],
    );
}

#[test]
fn explain_claims_no_waiting_time_when_the_start_is_unknown() {
    says(
        &annotated("worker-1", request("k-1")),
        &["has not answered; a running agent answers within seconds"],
    );
}
