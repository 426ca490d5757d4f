//! An agent on its node, as far as the API server shows it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use upgrade::target::request;
use upgrade::{RawRequest, names};

use crate::small::Small;

/// How an agent behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It upgrades.
    Upgrades,
    /// It fetches for as long as it has the request.
    Dawdles,
}

/// The pause between two phases.
const STEP: Duration = Duration::from_millis(100);

/// Accepts each request of its Node once, for ever.
pub async fn agent(small: Arc<Small>, node: &'static str, manner: Manner) {
    let mut spent = None;
    loop {
        small.changed().await;
        let Some(asked) = asked(&small, node) else {
            spent = None;
            continue;
        };
        if spent.as_ref() == Some(&asked) {
            continue;
        }
        let (id, version) = asked.clone();
        small.took(&id);
        work(&small, (node, manner), &id, &version).await;
        spent = Some(asked);
    }
}

/// The id and the version of the request on a Node.
pub fn asked(small: &Small, node: &str) -> Option<(String, String)> {
    let node = small.get("nodes", node)?;
    let annotations = &node["metadata"]["annotations"];
    let asked = request::from_annotations(|key| Some(annotations[key].as_str()?.to_owned()));
    let asked = asked.filter(RawRequest::is_scheduled)?;
    Some((asked.id?, asked.kubernetes?))
}

async fn work(small: &Small, (node, manner): (&str, Manner), id: &str, version: &str) {
    let say = |answer: &str, status: Value| say(small, node, answer, status);
    let is_asked = || asked(small, node).is_some_and(|(asked, _)| asked == id);
    say(
        "InProgress",
        json!({ "id": id, "phase": "Fetched", "percent": 20 }),
    );
    tokio::time::sleep(STEP).await;
    while is_asked() && manner == Manner::Dawdles {
        tokio::time::sleep(STEP).await;
    }
    if !is_asked() {
        let status = json!({ "id": id, "phase": "Failed", "percent": 100, "code": "Withdrawn" });
        return say("Failed", status);
    }
    say(
        "InProgress",
        json!({ "id": id, "phase": "Trial", "percent": 60 }),
    );
    tokio::time::sleep(STEP).await;
    arrives(small, node, (id, version));
}

/// The Node gets the version that the request with this id asks for.
pub fn arrives(small: &Small, node: &str, (id, version): (&str, &str)) {
    small.change("nodes", node, |node| {
        node["status"]["nodeInfo"]["kubeletVersion"] = json!(version);
    });
    let status = json!({ "id": id, "phase": "Upgraded", "percent": 100 });
    say(small, node, "Upgraded", status);
}

fn say(small: &Small, node: &str, answer: &str, mut status: Value) {
    (status["tries"], status["reached"]) = (json!(1), json!([]));
    small.change("nodes", node, |node| {
        let annotations = &mut node["metadata"]["annotations"];
        annotations[names::ANSWER] = json!(answer);
        annotations[names::STATUS] = json!(status.to_string());
        if answer != "InProgress" {
            annotations[names::HISTORY] = json!(history(answer, &status).to_string());
        }
    });
}

/// A history with one finished upgrade, which took ten seconds of each kind.
fn history(answer: &str, status: &Value) -> Value {
    let seconds =
        json!({ "working": 10, "waiting": 10, "cordoned": 10, "drained": 10, "notReady": 10 });
    json!([{
        "id": status["id"], "answer": answer, "image": "x", "began": 1000, "ended": 1020, "tries": 1, "code": status["code"],
        "seconds": seconds,
    }])
}
