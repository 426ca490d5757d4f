//! The kubelet's credential changes during an upgrade.

use anyhow::Result;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use careen_tests::token::Place;
use serde_json::json;
use upgrade::names;

/// Changes one token to another during the drain, and the second token to a certificate on trial.
/// The server rejects each replaced credential, so every later request uses the new one.
async fn a_swap_is_survived(place: Place, [first, second]: [&str; 2]) -> Result<()> {
    let mut scene = Scene::new(first).await?;
    let node = &scene.node;
    let with_certificate = std::fs::read(&node.kubeconfig)?;
    let pods = Namespace::new(node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("one", "web", 1).await?;
    node.allow_tokens().await?;
    let (first, second) = (node.new_token(first).await?, node.new_token(second).await?);
    node.give_token(&first, place).await?;
    scene.kill_agent()?;
    scene.start_agent()?;
    let node = &scene.node;
    node.ask_for(NEW_IMAGE).await?;
    node.until("cordoned", &is_cordoned).await?;
    node.give_token(&second, place).await?;
    node.take_back(&first).await?;
    assert_eq!(pods.names().await?, ["web"], "it is still being drained");
    pods.drop_budget("one").await?;
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());

    let node = &scene.node;
    let on_trial = |node: &_| annotation(node, names::STATUS).contains("\"phase\":\"Trial\"");
    node.until("the trial", &on_trial).await?;
    let fresh = node.folder.path().join("kubelet.conf.new");
    std::fs::write(&fresh, with_certificate)?;
    std::fs::rename(fresh, &node.kubeconfig)?;
    node.take_back(&second).await?;
    scene.kubelet_registers().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(!is_cordoned(&node));
    assert_eq!(scene.machine.boots(), 1);
    Ok(())
}

#[tokio::test]
async fn an_upgrade_goes_on_with_each_new_credential_in_kubelet_conf() -> Result<()> {
    a_swap_is_survived(Place::Inline, ["swapi1", "swapi2"]).await
}

#[tokio::test]
async fn upgrade_continues_when_the_token_file_is_rotated() -> Result<()> {
    a_swap_is_survived(Place::File, ["swapf1", "swapf2"]).await
}
