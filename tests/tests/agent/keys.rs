//! Keys on the Node that resemble Careen's.

use std::time::{Duration, Instant};

use anyhow::Result;
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::{NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{annotation, condition};
use careen_tests::scene::Scene;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use upgrade::names;

/// How soon the Node says what is wrong with a key.
const ANSWER: Duration = Duration::from_secs(2);

fn message(node: &Node) -> String {
    condition(node)
        .map(|(_, _, message)| message)
        .unwrap_or_default()
}

#[tokio::test]
async fn a_pause_that_is_a_label_holds_and_is_told_until_it_goes() -> Result<()> {
    let scene = Scene::new("label").await?;
    scene.node.label(json!({ names::PAUSED: "backup" })).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let held = |node: &Node| {
        let reason = condition(node).map(|(_, reason, _)| reason);
        let removal = format!("kubectl label node NODE {}-", names::PAUSED);
        reason.as_deref() == Some("Paused") && message(node).contains(&removal)
    };
    scene.node.until("what holds it", &held).await?;
    assert!(scene.machine.begun().is_empty());
    scene.node.label(json!({ names::PAUSED: null })).await?;
    scene.machine.until_begun("Fetch", 0).await;
    Ok(())
}

#[tokio::test]
async fn a_misspelt_pause_holds_a_drained_node_before_the_arming() -> Result<()> {
    let scene = Scene::new("misspelt").await?;
    scene
        .machine
        .fault("Snapshot", Some(careen_tests::machine::Fault::Held));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Snapshot", 0).await;
    scene
        .node
        .annotate(json!({ "careen.dev/pause": "backup" }))
        .await?;
    let held = |node: &Node| {
        message(node).contains("annotation careen.dev/pause (\"backup\") looks like a pause")
    };
    scene.node.until("what holds it", &held).await?;
    scene.machine.fault("Snapshot", None);
    let ended = |node: &Node| !annotation(node, names::STATUS).contains("\"step\"");
    scene.node.until("the step has ended", &ended).await?;
    assert_eq!(scene.machine.times("Arm"), 0);
    scene
        .node
        .annotate(json!({ "careen.dev/pause": null }))
        .await?;
    scene.machine.until_begun("Arm", 0).await;
    Ok(())
}

#[tokio::test]
async fn a_misspelt_request_is_told_on_a_node_that_was_never_asked() -> Result<()> {
    let scene = Scene::new("nearly").await?;
    let nearly = "infrastructure.cluster.x-k8s.io/in-place-upgrade";
    scene
        .node
        .annotate(json!({ nearly: "Scheduled", names::IMAGE: NEW_IMAGE }))
        .await?;
    let told =
        |node: &Node| message(node).contains(nearly) && message(node).contains(names::REQUEST);
    scene.node.until("the key", &told).await?;
    let events = scene.node.until_event("UnknownKeys").await?;
    assert_eq!(
        events.last().and_then(|event| event.type_.as_deref()),
        Some("Warning")
    );
    scene.node.annotate(json!({ nearly: null })).await?;
    let gone = |node: &Node| !message(node).contains(nearly);
    scene.node.until("no word of it any more", &gone).await?;
    assert!(scene.machine.begun().is_empty());
    Ok(())
}

#[tokio::test]
async fn image_without_a_request_is_told_and_nothing_begins() -> Result<()> {
    let scene = Scene::new("alone").await?;
    let told = |node: &Node| {
        let missing = format!("annotation {} is missing", names::REQUEST);
        message(node).contains("careen.dev/image without a request")
            && message(node).contains(&missing)
    };
    let gone = |node: &Node| !message(node).contains("without a request");
    let mut fastest = PATIENCE;
    // A busy machine may delay one of them.
    for _ in 0..3 {
        let asked = json!({ names::IMAGE: NEW_IMAGE });
        scene.node.annotate(asked).await?;
        let begun = Instant::now();
        scene.node.until("what is missing", &told).await?;
        fastest = fastest.min(begun.elapsed());
        scene.node.until_event("UnknownKeys").await?;
        scene.node.annotate(json!({ names::IMAGE: null })).await?;
        scene.node.until("no mention of it", &gone).await?;
    }
    assert!(fastest < ANSWER, "told after {fastest:?}");
    assert!(scene.machine.begun().is_empty());
    Ok(())
}

#[tokio::test]
async fn an_unknown_label_is_told_beside_the_answer() -> Result<()> {
    let scene = Scene::new("unknown").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    scene
        .node
        .label(json!({ "careen.dev/images": "x" }))
        .await?;
    let told = |node: &Node| {
        let word = condition(node).map(|(status, reason, _)| (status, reason));
        let still = word == Some(("False".to_owned(), "Upgraded".to_owned()));
        still && message(node).contains("label careen.dev/images")
    };
    let node = scene.node.until("the key", &told).await?;
    assert_eq!(annotation(&node, names::ANSWER), "Upgraded");
    assert!(annotation(&node, names::STATUS).contains("unknownKeys"));
    Ok(())
}
