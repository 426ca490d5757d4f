//! An agent on its node, as far as it is seen through the API server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use upgrade::names;

use crate::scene::NODE;
use crate::small::Small;

/// How an agent goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It upgrades.
    Upgrades,
    /// It fetches for as long as it is asked to.
    Dawdles,
}

/// Between two phases.
const STEP: Duration = Duration::from_millis(100);

/// Takes up what the Node asks for, once each, for ever.
pub async fn agent(small: Arc<Small>, manner: Manner) {
    let mut spent = None;
    loop {
        small.changed().await;
        let Some(asked) = asked(&small) else {
            spent = None;
            continue;
        };
        if spent.as_ref() == Some(&asked) {
            continue;
        }
        let (id, version) = asked.clone();
        small.took(&id);
        work(&small, manner, &id, &version).await;
        spent = Some(asked);
    }
}

/// Id and version of the request that stands.
pub fn asked(small: &Small) -> Option<(String, String)> {
    let node = small.get("nodes", NODE)?;
    let annotation = |key: &str| {
        node["metadata"]["annotations"][key]
            .as_str()
            .map(str::to_owned)
    };
    let stands = annotation(names::REQUEST).as_deref() == Some(names::REQUEST_SCHEDULED);
    stands.then_some(())?;
    Some((
        annotation(names::UPGRADE_ID)?,
        annotation(names::KUBERNETES_VERSION)?,
    ))
}

async fn work(small: &Small, manner: Manner, id: &str, version: &str) {
    let is_asked = || asked(small).is_some_and(|(asked, _)| asked == id);
    say(
        small,
        "InProgress",
        json!({ "id": id, "phase": "Fetched", "percent": 20 }),
    );
    tokio::time::sleep(STEP).await;
    while is_asked() && manner == Manner::Dawdles {
        tokio::time::sleep(STEP).await;
    }
    if !is_asked() {
        let status = json!({ "id": id, "phase": "Failed", "percent": 100, "code": "Withdrawn" });
        return say(small, "Failed", status);
    }
    say(
        small,
        "InProgress",
        json!({ "id": id, "phase": "Trial", "percent": 60 }),
    );
    tokio::time::sleep(STEP).await;
    small.change("nodes", NODE, |node| {
        node["status"]["nodeInfo"]["kubeletVersion"] = json!(version);
    });
    say(
        small,
        "Upgraded",
        json!({ "id": id, "phase": "Upgraded", "percent": 100 }),
    );
}

fn say(small: &Small, answer: &str, mut status: Value) {
    (status["tries"], status["reached"]) = (json!(1), json!([]));
    small.change("nodes", NODE, |node| {
        let annotations = &mut node["metadata"]["annotations"];
        annotations[names::ANSWER] = json!(answer);
        annotations[names::STATUS] = json!(status.to_string());
    });
}
