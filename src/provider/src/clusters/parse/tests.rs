use super::*;
use crate::clusters::{Node, Pod, Size};
use serde_json::{Value, json};
use upgrade::keys::TERMINATING;

fn read(object: Value) -> NodeFacts {
    serde_json::from_value::<Node>(object).unwrap().facts
}

#[test]
fn a_tag_is_found_behind_ports_and_before_digests() {
    assert_eq!(
        tag("example.org/kube-apiserver:v1.36.3").as_deref(),
        Some("v1.36.3")
    );
    assert_eq!(tag("mirror:5000/kube-apiserver@sha256:aa"), None);
    assert_eq!(
        tag("mirror:5000/x/kube-apiserver:v1.36.3@sha256:aa").as_deref(),
        Some("v1.36.3")
    );
}

#[test]
fn what_looks_like_a_pause_pauses_a_node_as_its_agent_has_it() {
    let paused = |annotations: Value, labels: Value| {
        let meta = json!({ "name": "a", "annotations": annotations, "labels": labels });
        read(json!({ "metadata": meta, "spec": {} })).paused
    };
    let said = json!({ names::PAUSED: "by hand" });
    assert_eq!(paused(said.clone(), json!({})).as_deref(), Some("by hand"));
    let label = paused(json!({}), said).unwrap();
    assert!(label.contains("label careen.dev/paused"), "{label}");
    let misspelt = paused(json!({ "careen.dev/puased": "" }), json!({})).unwrap();
    assert!(misspelt.contains("careen.dev/puased"), "{misspelt}");
    let off = paused(json!({}), json!({ names::OPT_OUT: "true" })).unwrap();
    assert!(off.contains("opt-out"), "{off}");
    let others =
        json!({ "example.org/paused": "", "careen.dev/colour": "red", "careen.dev/odd": 1 });
    assert_eq!(paused(others.clone(), others), None);
}

#[test]
fn mark_of_a_node_that_no_machine_has_is_read_and_opts_out() {
    let noted = |annotations: Value| -> Node {
        let object = json!({ "metadata": { "name": "a", "annotations": annotations }, "spec": {} });
        serde_json::from_value(object).unwrap()
    };
    let marked = noted(json!({ UNMANAGED: "2026-11-30T12:00:00Z" }));
    assert!(marked.unmanaged);
    let why = marked.facts.paused.unwrap_or_default();
    assert!(why.contains(UNMANAGED), "{why}");
    let other = noted(json!({ "careen.dev/colour": "red" }));
    assert!(!other.unmanaged && other.facts.paused.is_none());
}

/// A Node with this change, and why it is paused.
fn paused_by(change: &Value) -> Option<String> {
    let mut node = json!({ "metadata": { "name": "a" }, "spec": {}, "status": {} });
    json_patch::merge(&mut node, change);
    read(node).paused
}

#[test]
fn taint_pauses_a_node_as_its_agent_has_it() {
    let tainted = |key: &str| {
        let others = json!({ "key": "dedicated", "value": "db", "effect": "NoSchedule" });
        let taint = json!({ "key": key, "effect": "NoExecute", "timeAdded": null });
        paused_by(&json!({ "spec": { "taints": [others, taint] } }))
    };
    for key in [
        names::PAUSED,
        "careen.dev/on-hold",
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
        "node.kubernetes.io/out-of-service",
    ] {
        let why = tainted(key).unwrap_or_else(|| panic!("{key} pauses nothing"));
        assert!(why.contains(&format!("taint {key}")), "{why}");
    }
    assert_eq!(tainted("node.kubernetes.io/unschedulable"), None);
    let null = json!({ "metadata": { "deletionTimestamp": null }, "spec": { "taints": null } });
    assert_eq!(read(null).paused, None);
}

#[test]
fn node_that_is_about_to_go_is_paused_as_its_agent_has_it() {
    let condition = |status: &str| {
        let condition = json!({ "type": TERMINATING, "status": status });
        json!({ "status": { "conditions": [condition] } })
    };
    let meta = |part: &str, key: &str, value: &str| json!({ "metadata": { part: { key: value } } });
    let mcm = "node.machine.sapcloud.io/trigger-deletion-by-mcm";
    let gke = "cloud.google.com/active-node-maintenance";
    let since = "2026-11-29T04:00:00Z";
    for (change, sign) in [
        (
            meta("annotations", mcm, "true"),
            format!("annotation {mcm}"),
        ),
        (
            meta("labels", gke, "ONGOING"),
            format!("label {gke}=ONGOING"),
        ),
        (condition("True"), format!("condition {TERMINATING}")),
        (
            json!({ "metadata": { "deletionTimestamp": since } }),
            format!("deletionTimestamp {since}"),
        ),
    ] {
        let why = paused_by(&change).unwrap_or_else(|| panic!("{sign} pauses nothing"));
        assert!(why.contains(&sign), "{why}");
    }
    for change in [
        meta("annotations", mcm, "false"),
        meta("labels", gke, "PENDING"),
        condition("False"),
    ] {
        assert_eq!(paused_by(&change), None, "{change}");
    }
}

#[test]
fn a_pod_whose_lists_are_null_hides_no_others() {
    let object = json!({
        "metadata": { "name": "kube-scheduler-a", "labels": { "component": "kube-scheduler" } },
        "spec": { "nodeName": "a", "containers": null }, "status": { "conditions": null },
    });
    let seen: Pod = serde_json::from_value(object).unwrap();
    let (_, node, pod) = seen.facts.unwrap();
    assert_eq!((node.as_str(), pod.version, pod.ready), ("a", None, false));
}

#[test]
fn when_phases_were_reached_is_kept_and_of_many_the_last() {
    let reached = |count: u64| -> Vec<_> {
        let each = 0..count;
        each.map(|at| json!({ "phase": "Trial", "at": at }))
            .collect()
    };
    for (count, kept) in [(3, 0..3), (40, 24..40)] {
        let status =
            json!({ "phase": "Trial", "percent": 60, "tries": 1, "reached": reached(count) });
        let object = json!({ "metadata": { "name": "a", "annotations": { names::STATUS: status.to_string() } }, "spec": {} });
        let facts = read(object);
        assert_eq!(facts.reached, kept.collect::<Vec<u64>>());
        assert!(facts.reply.status.unwrap().reached.is_empty());
    }
}

#[test]
fn lists_of_a_status_are_not_kept_and_count_if_they_are() {
    let status = json!({
        "phase": "Trial", "percent": 60, "tries": 1, "reached": [],
        "unknownKeys": vec![""; 2000], "differs": vec![""; 2000],
    });
    let object = json!({ "metadata": { "name": "a", "annotations": { names::STATUS: status.to_string() } }, "spec": {} });
    let mut facts = read(object);
    let small = facts.size();
    let kept = facts.reply.status.as_mut().unwrap();
    assert_eq!(kept.unknown_keys.capacity() + kept.differs.capacity(), 0);
    kept.differs = vec![String::new(); 2000];
    assert!(facts.size() >= small + 2000 * size_of::<String>());
}

#[test]
fn oversized_failure_reason_is_cut_and_oversized_status_unread() {
    let long = "x".repeat(200_000);
    let object = json!({
        "metadata": { "name": "a", "annotations": { names::FAILURE_REASON: long, names::STATUS: long, names::ANSWER: "Failed" } },
        "spec": {},
    });
    let facts = read(object);
    assert_eq!(facts.failure.unwrap().len(), TEXT);
    assert!(facts.reply.status.is_none() && facts.reply.unreadable);
}

/// Every string that a Node can contain, with a length that the server chooses.
fn huge(text: &str) -> Value {
    let status = json!({
        "id": "capi-1", "phase": text, "step": text, "doing": text, "percent": 1, "code": text, "reason": text,
        "revertsFor": { "code": text, "reason": text }, "toVersion": "v1.36.3", "tries": 1, "paused": text,
        "reached": [{ "phase": text, "at": 1 }],
    });
    json!({
        "apiVersion": text, "kind": text,
        "metadata": {
            "name": text, "uid": text, "resourceVersion": text, "generateName": text, "deletionTimestamp": text, "labels": { CONTROL_PLANE: text, text: text },
            "managedFields": [{ "manager": text, "fieldsV1": { text: [0, 1, 2] } }],
            "annotations": {
                names::REQUEST: text, names::IMAGE: text, names::KUBERNETES_VERSION: text, names::UPGRADE_ID: text,
                names::PAUSED: text, names::ANSWER: text, names::STATUS: status.to_string(), names::HISTORY: text,
                names::FAILURE_REASON: text, text: text,
            },
        },
        "spec": { "providerID": text, "taints": [{ "key": text, "value": text }, { "key": names::PAUSED, "value": text }] },
        "status": {
            "nodeInfo": { "kubeletVersion": text, "architecture": text, "osImage": text },
            "conditions": [{ "type": text, "status": text, "message": text }],
        },
    })
}

#[test]
fn however_long_its_strings_are_a_node_is_kept_small() {
    for (length, most) in [(1000, 10 * 1024), (1 << 20, 6 * 1024)] {
        let facts = read(huge(&"x".repeat(length)));
        assert!(facts.size() < most, "{length}: {}", facts.size());
    }
    let pod = json!({
        "metadata": { "name": "x".repeat(1 << 20), "labels": { "component": "x".repeat(1 << 20) } },
        "spec": { "nodeName": "x".repeat(1 << 20), "containers": [{ "image": format!("a:{}", "x".repeat(1 << 20)) }] },
    });
    let seen: Pod = serde_json::from_value(pod).unwrap();
    assert!(seen.size() < 2 * 1024, "{}", seen.size());
}

#[test]
fn no_string_of_a_node_or_pod_steers_a_terminal() {
    let text = "a\u{1b}]0;x\u{7}\u{9b}\u{202e}\u{2066}\u{200b}\u{2028}\u{61c}\u{e0041}b";
    let facts = read(huge(text));
    assert!(facts.reply.status.is_some(), "its JSON was read");
    // Debug escapes control characters, so an escape shows that one is left.
    let shown = format!("{facts:?}");
    assert!(
        !shown.contains("\\u{") && !shown.contains('\u{202e}'),
        "{shown}"
    );
    let pod = json!({
        "metadata": { "name": text, "labels": { "component": text } },
        "spec": { "nodeName": text, "containers": [{ "image": format!("a:{text}") }] },
    });
    let seen: Pod = serde_json::from_value(pod).unwrap();
    let shown = format!("{seen:?}");
    assert!(shown.contains("]0;x") && !shown.contains("\\u{"), "{shown}");
}
