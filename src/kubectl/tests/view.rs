//! Whatever a Node says of itself: it is parsed or passed over, and what is shown of it steers nothing.

mod scene;

use kubectl::diagnose;
use kubectl::expected::Expected;
use kubectl::past;
use kubectl::render::status::{Around, status};
use kubectl::render::{Look, explain, history, plan};
use kubectl::view::NodeView;
use proptest::prelude::*;
use scene::*;
use serde_json::{Value, json};
use upgrade::names;

/// Texts that mean something to a parser or to a terminal, and any other.
fn text() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        Just("Scheduled".to_owned()),
        Just("InProgress".to_owned()),
        Just("Upgraded".to_owned()),
        Just("Failed".to_owned()),
        Just("Trial".to_owned()),
        Just("\u{1b}[2J\u{1b}]0;x\u{7}\r\n\u{202e}".to_owned()),
        Just("k-1".to_owned()),
    ];
    prop_oneof![known, any::<String>()]
}

fn details() -> impl Strategy<Value = Value> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u32>());
    (text(), text(), text(), text(), numbers).prop_map(|(id, phase, reason, doing, (at, then, tries))| {
        json!({
            "id": id, "phase": phase, "percent": at % 256, "code": reason, "reason": reason, "doing": doing,
            "tries": tries, "toVersion": "v1.36.3",
            "reached": [{ "phase": phase, "at": at }, { "phase": doing, "at": then }],
        })
    })
}

fn answers() -> impl Strategy<Value = Value> {
    (details(), text(), text(), any::<u64>(), any::<i64>()).prop_map(|(status, word, name, size, bytes)| {
        let past = json!([{ "answer": "Failed", "image": word, "reason": name, "began": size, "ended": 1, "tries": 1 }]);
        let change = json!({ "from": word, "to": name });
        let plan = json!({
            "asked": word, "at": size, "code": name, "reason": word, "kubelet": change, "kernel": change,
            "packages": [{ "name": name, "from": word, "to": word, "bytes": bytes }],
            "packagesLeftOut": 4_294_967_295_u32, "fetchBytes": size, "etcConflicts": [word],
            "room": [{ "place": name, "need": size, "free": 0 }],
            "blocked": [{ "pod": name, "by": word }], "expectedSeconds": size, "windowSeconds": 1,
            "opens": word, "paused": name,
        });
        json!({
            names::STATUS: status.to_string(), names::HISTORY: past.to_string(), names::PLAN_RESULT: plan.to_string(),
            names::FAILURE_REASON: name,
        })
    })
}

fn shown(node: &NodeView) -> String {
    let expected = Expected::learn([node]);
    let (now, look) = (NOW, Look::default());
    let preview = plan::Preview {
        node: node.name.clone(),
        image: NEW.to_owned(),
        plan: node.plan.clone(),
        pods: None,
        usual_seconds: None,
    };
    let around = Around {
        now,
        expected: &expected,
        wide: true,
        look,
    };
    [
        status(&[node], around),
        explain::explain(&diagnose::explain(node, now, &expected), look),
        history::history(&past::of(std::slice::from_ref(node)), true, true, look),
        plan::plan(&preview, true, look),
    ]
    .concat()
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_steers_the_terminal(
        answers in answers(), request in text(), answer in text(), others in proptest::collection::vec(text(), 5),
    ) {
        let mut annotations = answers;
        let keys = [names::IMAGE, names::KUBERNETES_VERSION, names::UPGRADE_ID, names::PAUSED, names::CORDONED_BY];
        for (key, value) in keys.into_iter().zip(others) {
            annotations[key] = json!(value);
        }
        annotations[names::REQUEST] = json!(request);
        annotations[names::ANSWER] = json!(answer);
        let word = annotations[names::PAUSED].clone();
        let ours = json!({
            "type": names::CONDITION, "status": "False", "reason": word, "message": word, "lastHeartbeatTime": "2025-11-22T08:20:01Z",
        });
        let change = json!({ "metadata": { "annotations": annotations }, "status": { "conditions": [ours] } });
        let node = node("worker-1", change);
        let shown = shown(&node);
        let steers = |c: char| c != '\n' && c.is_control();
        prop_assert!(!shown.contains(steers) && !shown.contains('\u{202e}'), "{shown:?}");
    }

    #[test]
    fn no_text_in_place_of_json_panics(text in any::<String>()) {
        let all = [names::STATUS, names::HISTORY, names::PLAN_RESULT].map(|key| (key.to_owned(), json!(text)));
        let node = annotated("worker-1", Value::Object(all.into_iter().collect()));
        shown(&node);
    }
}
