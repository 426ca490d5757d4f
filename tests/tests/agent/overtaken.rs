//! Another client writes the Node at the same moment as the agent.

use anyhow::Result;
use careen_tests::gate::Gate;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::scene::Scene;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use serde_json::json;
use upgrade::names;

/// The server itself retries a patch five times before it reports a conflict.
const CONFLICTS: usize = 8;

#[tokio::test]
async fn a_cordon_that_a_person_sets_in_the_same_moment_stays_theirs() -> Result<()> {
    let mut scene = Scene::new("same-moment").await?;
    let mut gate = Gate::before(&scene.node, "nodes").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let cordon = gate.next().await?;
    scene.node.set_unschedulable(true).await?;
    cordon.allow();
    drop(gate);
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(is_cordoned(&node));
    assert_eq!(annotation(&node, names::CORDONED_BY), "");
    Ok(())
}

/// The agent receives 409, and still completes its write as soon as the server allows it.
async fn a_conflict_is_no_end(word: &str, resource: &str) -> Result<()> {
    let mut scene = Scene::new(word).await?;
    let mut gate = Gate::before(&scene.node, resource).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    for _ in 0..CONFLICTS {
        gate.next().await?.refuse(409);
    }
    drop(gate);
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(!is_cordoned(&node));
    Ok(())
}

#[tokio::test]
async fn cordon_is_retried_after_a_conflict() -> Result<()> {
    a_conflict_is_no_end("conflict", "nodes").await
}

#[tokio::test]
async fn report_is_retried_after_a_conflict() -> Result<()> {
    a_conflict_is_no_end("conflict-told", "nodes/status").await
}

/// As with a server that executes a cordon late and never answered it, or that was restored to a
/// state during the drain.
#[tokio::test]
async fn our_own_cordon_that_shows_up_behind_the_end_is_taken_off() -> Result<()> {
    let mut scene = Scene::new("late-cordon").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(!is_cordoned(&node));
    let mark = json!({ "annotations": { names::CORDONED_BY: "r1-aaaaaaaaaaaa" } });
    let late = json!({ "metadata": mark, "spec": { "unschedulable": true } });
    scene.node.change(late).await?;
    let lifted = |node: &_| !is_cordoned(node) && annotation(node, names::CORDONED_BY).is_empty();
    scene.node.until("the cordon lifted", &lifted).await?;
    Ok(())
}

/// The same for the load balancer label.
#[tokio::test]
async fn agent_removes_its_load_balancer_label_set_after_the_end() -> Result<()> {
    let mut scene = Scene::new("late-label").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    let late = json!({
        "annotations": { names::EXCLUDED_BY: "r1-aaaaaaaaaaaa" },
        "labels": { names::EXCLUDED: "true" },
    });
    scene.node.change(json!({ "metadata": late })).await?;
    let is_back = |node: &Node| {
        !node.labels().contains_key(names::EXCLUDED)
            && annotation(node, names::EXCLUDED_BY).is_empty()
    };
    scene.node.until("the label taken off", &is_back).await?;
    Ok(())
}
