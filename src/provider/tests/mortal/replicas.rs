//! Two replicas: core calls either of them for any Machine.

use std::time::Duration;

use provider::names;
use serde_json::json;

use crate::agent::Manner;
use crate::scene::{MACHINE, NODE, Scene};

const OTHER: &str = "m2";
const OTHER_NODE: &str = "n2";

/// Two Machines of one MachineDeployment, which permits one unavailable node, and the provider's
/// ExtensionConfig.
async fn two_of_one_deployment() -> Scene {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.second(OTHER, OTHER_NODE, Manner::Upgrades);
    scene.small.put(
        "extensionconfigs",
        json!({
            "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
            "metadata": { "name": names::MANAGER }, "spec": {},
        }),
    );
    scene
}

/// Each replica decides by its watches, which lag here, as they may anywhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_called_at_once_ask_one_node_after_the_other() {
    let scene = two_of_one_deployment().await;
    let _replicas = [scene.replica("one", MACHINE), scene.replica("two", OTHER)];
    scene
        .until("led", |scene| scene.small.get("leases", "leader").is_some())
        .await;
    scene.small.lags(Duration::from_millis(300));
    scene.update();
    scene.update_of(OTHER);
    scene
        .until("both upgraded", |scene| {
            let both = scene.works(NODE) && scene.works(OTHER_NODE);
            assert!(!both, "both are away at once");
            let asked = scene.small.taken().len();
            asked == 2 && scene.is_left_alone() && scene.leaves_alone(OTHER)
        })
        .await;
}

/// Core's connection may stay with a replica that does not lead for as long as both live.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_is_asked_when_core_calls_only_a_replica_not_leading() {
    let scene = two_of_one_deployment().await;
    let _leader = scene.replica("one", "nobody");
    scene
        .until("led", |scene| {
            let lease = scene.small.get("leases", "leader").unwrap_or_default();
            lease["spec"]["holderIdentity"] == "one"
        })
        .await;
    let _called = scene.replica("two", MACHINE);
    scene.update();
    scene.until("upgraded", Scene::is_left_alone).await;
    assert_eq!(scene.condition(names::CONDITION)["status"], "True");
    assert_eq!(scene.small.taken().len(), 1);
}
