//! A Node that disappears while its agent runs: renamed, or deleted and registered again.

use std::fs;

use anyhow::Result;
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::{NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{TestNode, annotation, condition, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use careen_tests::wire::State;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use upgrade::names;

/// Joins the machine again as another Node, with a request for the running image.
async fn join_again(scene: &Scene, word: &str) -> Result<TestNode> {
    join_again_for(scene, word, OLD_IMAGE).await
}

/// Joins the machine again as another Node, with that Node's kubelet.conf at the same path.
async fn join_again_for(scene: &Scene, word: &str, image: &str) -> Result<TestNode> {
    let other = TestNode::new(word).await?;
    let fresh = scene.node.kubeconfig.with_extension("other");
    fs::copy(&other.kubeconfig, &fresh)?;
    fs::rename(fresh, &scene.node.kubeconfig)?;
    let machine = &scene.machine;
    let boot = machine.boot_id();
    other.kubelet_says(&boot, machine.version(), true).await?;
    other.ask_for(image).await?;
    Ok(other)
}

async fn delete(node: &TestNode) -> Result<()> {
    let now = DeleteParams::default();
    node.nodes().delete(&node.name, &now).await.map(drop)?;
    Ok(())
}

/// A scene whose agent has served its Node.
async fn served(word: &str) -> Result<Scene> {
    let scene = Scene::new(word).await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(scene)
}

#[tokio::test]
async fn a_node_that_joined_again_under_another_name_is_served() -> Result<()> {
    let scene = served("left").await?;
    let other = join_again(&scene, "joined").await?;
    // The old connection and credential are still valid. The deletion is all that the agent learns
    // about the old Node.
    delete(&scene.node).await?;
    other.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn a_node_that_was_renamed_during_an_outage_is_served() -> Result<()> {
    let scene = served("outdated").await?;
    scene.node.wire.set(State::Cut);
    let other = join_again(&scene, "renamed").await?;
    other.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn renaming_a_node_stops_the_drain_and_prevents_the_reboot() -> Result<()> {
    let scene = Scene::new("drained").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.node.until("cordoned", &is_cordoned).await?;
    let other = join_again(&scene, "again").await?;
    delete(&scene.node).await?;
    let told = other.until_answered("Upgraded").await?;
    assert!(!is_cordoned(&told));
    let (boots, menu) = (scene.machine.boots(), scene.machine.menu());
    assert_eq!((boots, menu.as_str()), (0, "a"));
    Ok(())
}

/// As when all Nodes get a request for one image: the request on the new Node does not withdraw the
/// old one.
#[tokio::test]
async fn renaming_a_node_fails_its_upgrade_and_names_the_cordoned_one() -> Result<()> {
    let scene = Scene::new("former").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    let former = &scene.node;
    former.ask_for(NEW_IMAGE).await?;
    former.until("cordoned", &is_cordoned).await?;
    let other = join_again_for(&scene, "present", NEW_IMAGE).await?;
    let (boot, version) = (scene.machine.boot_id(), scene.machine.version());
    // As the controller manager marks a Node without a kubelet.
    former.kubelet_says(&boot, version, false).await?;
    let told = other.until_answered("Failed").await?;
    let why = annotation(&told, names::FAILURE_REASON);
    assert!(
        why.contains(&former.name) && why.contains(&other.name),
        "{why}"
    );
    assert!(!is_cordoned(&told), "nothing was begun under the new name");
    assert!(is_cordoned(&former.now().await?), "out of reach, and named");
    assert_eq!(pods.names().await?, ["web"]);
    let (boots, menu) = (scene.machine.boots(), scene.machine.menu());
    assert_eq!((boots, menu.as_str()), (0, "a"));
    Ok(())
}

#[tokio::test]
async fn reregistered_node_receives_the_withdrawn_upgrades_result() -> Result<()> {
    let scene = Scene::new("deleted").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    let node = &scene.node;
    node.ask_for(NEW_IMAGE).await?;
    node.until("cordoned", &is_cordoned).await?;
    delete(node).await?;
    let new = serde_json::from_value(json!({ "metadata": { "name": node.name } }))?;
    node.nodes().create(&PostParams::default(), &new).await?;
    let (boot, version) = (scene.machine.boot_id(), scene.machine.version());
    node.kubelet_says(&boot, version, true).await?;
    // The request disappeared with the old Node, which counts as a withdrawal.
    let told = node.until_answered("Failed").await?;
    assert!(annotation(&told, names::FAILURE_REASON).starts_with("withdrawn"));
    assert!(annotation(&told, names::STATUS).contains("r1-aaaaaaaaaaaa"));
    assert!(condition(&told).is_some() && !is_cordoned(&told));
    assert_eq!(pods.names().await?, ["web"]);
    Ok(())
}

/// A deletion by a person says nothing about the new system. The agent waits as for an unavailable
/// server, and does not record the image as bad.
#[tokio::test]
async fn node_deleted_in_its_trial_falls_back_without_a_bad_image() -> Result<()> {
    let mut scene = Scene::new("trial").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    delete(&scene.node).await?;
    // After the deadline of the health check.
    scene.machine.pass_seconds(700);
    // The checks report twenty times a second, and the agent judges after each report.
    let judged = scene.machine.until_seen(scene.machine.seen() + 5);
    tokio::time::timeout(PATIENCE, judged).await?;
    assert_eq!(
        scene.machine.times("Reboot"),
        1,
        "into the trial, and none out of it"
    );
    scene.machine.pass_seconds(900);
    scene.reboot_silently().await?;
    assert!(!scene.machine.runs_new());
    assert_eq!(scene.machine.store().read()?.bad, []);
    Ok(())
}
