//! What a former leader left on an InfraMachine without an annotation or a mark as a reminder.

use provider::names;
use serde_json::Value;

use crate::agent::Manner;
use crate::scene::{NODE, Scene};

/// An upgrade that an agent has finished, and the InfraMachine's report from the middle of it.
async fn left_in_the_middle(manner: Manner) -> Scene {
    let scene = Scene::new(manner).await;
    scene.annotate();
    let life = scene.provider();
    scene
        .until("in the middle", |scene| {
            scene.node_is_asked() && scene.condition(names::READY)["reason"] == names::READY_REASON
        })
        .await;
    drop(life);
    scene
}

/// Removes everything of the provider from the Machine, as somebody does who restores a copy of it.
fn strip(scene: &Scene) {
    scene.withdraw();
    scene.strip();
}

fn says(scene: &Scene, status: &str, reason: &str) -> bool {
    let told = scene.condition(names::CONDITION);
    let is_ready = scene.condition(names::READY)["status"] == "True";
    told["status"] == status && told["reason"] == reason && is_ready
}

fn node_says(scene: &Scene) -> Value {
    let node = scene.small.get("nodes", NODE).unwrap_or_default();
    node["metadata"]["annotations"][upgrade::names::ANSWER].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn successor_reports_an_ended_upgrade_and_restores_ready() {
    let scene = left_in_the_middle(Manner::Upgrades).await;
    strip(&scene);
    scene
        .until("upgraded", |scene| node_says(scene) == "Upgraded")
        .await;
    let _successor = scene.provider();
    scene
        .until("told", |scene| says(scene, "True", "Upgraded"))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn successor_reports_an_upgrade_that_ends_after_it_starts() {
    let scene = left_in_the_middle(Manner::Upgrades).await;
    strip(&scene);
    let _successor = scene.provider();
    scene
        .until("told", |scene| says(scene, "True", "Upgraded"))
        .await;
}

/// It never got a mark.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machine_withdrawn_without_a_leader_does_not_stay_held() {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.empty_catalogue();
    scene.annotate();
    let life = scene.provider();
    scene
        .until("held", |scene| {
            scene.condition(names::CONDITION)["reason"] == "NoImage"
        })
        .await;
    drop(life);
    scene.withdraw();
    let _successor = scene.provider();
    scene
        .until("withdrawn", |scene| {
            scene.condition(names::CONDITION)["reason"] == "Withdrawn"
        })
        .await;
}
