//! A workload cluster with several API servers at one address. Its connection starts with an old
//! one and lasts while its control plane is upgraded.

use provider::names;
use serde_json::json;

use crate::agent::Manner;
use crate::scene::{NEW, OLD, Scene, node_at_rest};

/// The control plane's Node, at this version.
fn serves(scene: &Scene, version: &str) {
    let mut node = node_at_rest("cp", version);
    node["metadata"]["labels"] = json!({ "node-role.kubernetes.io/control-plane": "" });
    scene.small.is_of(version);
    scene.small.put("nodes", node);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_proceeds_once_the_control_plane_reaches_the_version() {
    let scene = Scene::new(Manner::Upgrades).await;
    serves(&scene, OLD);
    scene.annotate();
    let _life = scene.provider();
    scene
        .until("held", |scene| {
            scene.condition(names::CONDITION)["reason"] == "AheadOfControlPlane"
        })
        .await;
    assert_eq!(
        scene.small.asked_for_release(),
        1,
        "its control plane's Node says as much"
    );
    serves(&scene, NEW);
    scene.until("upgraded", Scene::is_left_alone).await;
    assert_eq!(scene.small.asked_for_release(), 2);
    assert_eq!(scene.version(), NEW);
}
