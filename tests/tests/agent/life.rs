//! Interruptions of an upgrade: a withdrawal, a temporary failure of a step, a power loss.

use anyhow::Result;
use careen_tests::machine::{Fault, NEW_IMAGE};
use careen_tests::node::annotation;
use careen_tests::scene::Scene;
use serde_json::json;
use upgrade::{Reason, names};

#[tokio::test]
async fn a_withdrawal_while_fetching_stops_it_and_nothing_is_left() -> Result<()> {
    let scene = Scene::new("withdrawn-early").await?;
    scene.machine.fault("Fetch", Some(Fault::Hangs));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Fetch", 0).await;
    scene.node.annotate(json!({ names::REQUEST: null })).await?;
    let node = scene.node.until_answered("Failed").await?;
    assert!(annotation(&node, names::FAILURE_REASON).starts_with("withdrawn"));
    assert_eq!(
        (scene.machine.boots(), scene.machine.menu().as_str()),
        (0, "a")
    );
    Ok(())
}

#[tokio::test]
async fn a_step_that_fails_for_now_is_tried_again_and_says_why() -> Result<()> {
    let mut scene = Scene::new("retries").await?;
    let away = Reason::RemoteAway {
        remote: "site".to_owned(),
        detail: "no route".to_owned(),
    };
    scene
        .machine
        .fault("Fetch", Some(Fault::Fails(away.clone())));
    scene.node.ask_for(NEW_IMAGE).await?;
    let says = |node: &_| annotation(node, names::STATUS).contains("no route");
    scene
        .node
        .until("the reason, with the upgrade still under way", &says)
        .await?;
    scene.machine.fault("Fetch", None);
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn a_trial_that_loses_power_is_tried_again() -> Result<()> {
    let mut scene = Scene::new("power").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    assert!(scene.machine.runs_new());
    scene.power_cycle()?;
    assert!(!scene.machine.runs_new(), "one boot was one try");
    scene.kubelet_registers().await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    assert_eq!(scene.machine.boots(), 3);
    Ok(())
}
