//! An API server that is unavailable at every critical moment.

use std::time::Duration;

use anyhow::Result;
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::{NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::scene::Scene;
use careen_tests::wire::State;
use upgrade::names;
use upgrade::observe::Check;

/// Waits until the agent has opened more connections than before, so that it knows of the outage.
async fn until_tried(scene: &Scene, before: u64) -> Result<()> {
    let tried = scene.node.wire.until_more_connections(before);
    Ok(tokio::time::timeout(PATIENCE, tried).await?)
}

/// Waits until the agent has judged a trial as it is now. The checks report twenty times a second,
/// and the agent judges after each of these reports, from the second one on.
async fn until_judged(scene: &Scene) -> Result<()> {
    let judged = scene.machine.until_seen(scene.machine.seen() + 5);
    Ok(tokio::time::timeout(PATIENCE, judged).await?)
}

#[tokio::test]
async fn a_request_made_during_an_outage_is_served_after_it() -> Result<()> {
    let scene = Scene::new("late").await?;
    let tries = scene.node.wire.connections();
    scene.node.wire.set(State::Cut);
    scene.node.ask_for(OLD_IMAGE).await?;
    until_tried(&scene, tries).await?;
    scene.node.wire.set(State::Open);
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn outage_in_the_trial_is_not_judged_and_the_answer_follows() -> Result<()> {
    let mut scene = Scene::new("outage").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    tokio::time::timeout(PATIENCE, scene.machine.until_down()).await?;
    scene.node.wire.set(State::Cut);
    scene.power_cycle()?;
    // After the deadline of the health check, within the hold.
    scene.machine.pass_seconds(700);
    until_judged(&scene).await?;
    let held = scene.machine.store().read()?.upgrade;
    assert!(
        held.is_some_and(|up| up.attempt.hold.is_some()),
        "the trial is held"
    );
    let (reboots, blessed) = (scene.machine.times("Reboot"), scene.machine.times("Bless"));
    assert_eq!(reboots, 1, "into the trial, and none out of it");
    assert_eq!(blessed, 0, "not judged for what it cannot help");
    scene.node.wire.set(State::Open);
    scene.kubelet_registers().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(!is_cordoned(&node));
    Ok(())
}

#[tokio::test]
async fn falling_back_needs_no_api_server() -> Result<()> {
    let mut scene = Scene::new("alone").await?;
    let broken = ("disk".to_owned(), Check::Broken("gone".to_owned()));
    scene
        .machine
        .set_local(|local| local.required = vec![broken]);
    scene.node.ask_for(NEW_IMAGE).await?;
    tokio::time::timeout(PATIENCE, scene.machine.until_down()).await?;
    scene.node.wire.set(State::Cut);
    scene.power_cycle()?;
    scene.reboot_silently().await?;
    assert!(!scene.machine.runs_new());
    scene.node.wire.set(State::Open);
    scene.kubelet_registers().await?;
    let node = scene.node.until_answered("Failed").await?;
    assert_eq!(
        annotation(&node, names::FAILURE_REASON),
        "required check disk failed: gone. Fix the image, the node or the check, and ask again."
    );
    assert!(!is_cordoned(&node));
    Ok(())
}

#[tokio::test]
async fn a_drain_outlives_an_outage() -> Result<()> {
    let mut scene = Scene::new("drain-outage").await?;
    let pods = careen_tests::pods::Namespace::new(&scene.node).await?;
    pods.run("web", serde_json::json!({})).await?;
    pods.budget("one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.node.until("cordoned", &is_cordoned).await?;
    let tries = scene.node.wire.connections();
    scene.node.wire.set(State::Cut);
    pods.drop_budget("one").await?;
    until_tried(&scene, tries + 2).await?;
    scene.node.wire.set(State::Open);
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_link_that_went_dead_without_a_word_is_given_up() -> Result<()> {
    let mut scene = Scene::new("dead").await?;
    scene.kill_agent()?;
    scene.silence = Duration::from_secs(2);
    scene.start_agent()?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    let wire = &scene.node.wire;
    wire.set(State::Dead);
    let again = wire.until_more_connections(wire.connections());
    tokio::time::timeout(PATIENCE, again).await?;
    wire.set(State::Open);
    scene
        .node
        .annotate(serde_json::json!({ names::UPGRADE_ID: "second" }))
        .await?;
    let answered = |node: &_| annotation(node, names::STATUS).contains("second");
    scene.node.until("the second answer", &answered).await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_fails_inside_is_asked_again() -> Result<()> {
    let scene = Scene::new("five-hundred").await?;
    let broken = careen_tests::webhook::Broken::for_status_of(&scene.node).await?;
    let calls = broken.calls();
    scene.node.ask_for(OLD_IMAGE).await?;
    // The agent's first answer fails, and so does its next try.
    tokio::time::timeout(PATIENCE, broken.until_called(calls + 1)).await?;
    assert_eq!(annotation(&scene.node.now().await?, names::ANSWER), "");
    broken.repair().await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

/// Each write starts as soon as the one before is answered, so a read followed by a conditional
/// write would never succeed.
#[tokio::test]
async fn node_under_constant_writes_is_cordoned() -> Result<()> {
    let mut scene = Scene::new("busy").await?;
    let (nodes, name) = (scene.node.nodes(), scene.node.name.clone());
    let writer = tokio::spawn(async move {
        for number in 0.. {
            let body = serde_json::json!({ "metadata": { "annotations": { "someone/else": format!("{number}") } } });
            let body = kube::api::Patch::Merge(body);
            let _ = nodes
                .patch(&name, &kube::api::PatchParams::default(), &body)
                .await;
        }
    });
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    writer.abort();
    assert!(!is_cordoned(&node));
    Ok(())
}

/// As with a server that was restored from a backup, or whose etcd has lost its last flushed
/// writes.
#[tokio::test]
async fn answer_lost_by_a_restored_server_is_written_again() -> Result<()> {
    let scene = Scene::new("restored").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    scene.node.wire.set(State::Cut);
    let lost =
        serde_json::json!({ names::ANSWER: null, names::STATUS: null, names::HISTORY: null });
    scene.node.annotate(lost).await?;
    assert_eq!(annotation(&scene.node.now().await?, names::ANSWER), "");
    scene.node.wire.set(State::Open);
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(annotation(&node, names::STATUS).contains("r1-aaaaaaaaaaaa"));
    Ok(())
}

/// A scene whose agent has just started after an outage, with an answer that it has not reported.
async fn untold(word: &str) -> Result<Scene> {
    let mut scene = Scene::new(word).await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    scene.kill_agent()?;
    let lost =
        serde_json::json!({ names::ANSWER: null, names::STATUS: null, names::HISTORY: null });
    scene.node.annotate(lost).await?;
    scene.node.wire.set(State::Cut);
    scene.start_agent()?;
    let asked = scene
        .node
        .wire
        .until_more_connections(scene.node.wire.connections());
    tokio::time::timeout(PATIENCE, asked).await?;
    Ok(scene)
}

#[tokio::test]
async fn stopping_agent_writes_its_owed_answer_and_starts_nothing() -> Result<()> {
    let scene = untold("last-word").await?;
    scene.ask_agent_to_stop();
    // The agent would start this upgrade if it still listened.
    scene.node.ask_for(NEW_IMAGE).await?;
    scene
        .node
        .annotate(serde_json::json!({ names::UPGRADE_ID: "next" }))
        .await?;
    let begun = scene.machine.begun();
    scene.node.wire.set(State::Open);
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(annotation(&node, names::STATUS).contains("r1-aaaaaaaaaaaa"));
    scene.until_agent_ended().await?;
    assert_eq!(scene.machine.begun(), begun);
    Ok(())
}

#[tokio::test]
async fn an_agent_that_is_told_to_stop_twice_waits_for_nobody() -> Result<()> {
    let scene = untold("in-haste").await?;
    scene.ask_agent_to_stop();
    scene.until_agent_stops().await?;
    let begun = std::time::Instant::now();
    scene.ask_agent_to_stop();
    scene.until_agent_ended().await?;
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "half of what it would wait"
    );
    assert_eq!(annotation(&scene.node.now().await?, names::ANSWER), "");
    Ok(())
}

#[tokio::test]
async fn an_agent_that_has_told_all_ends_at_once_also_in_an_outage() -> Result<()> {
    let scene = Scene::new("told").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    let wire = &scene.node.wire;
    let connections = wire.connections();
    wire.set(State::Cut);
    tokio::time::timeout(PATIENCE, wire.until_more_connections(connections)).await?;
    let begun = std::time::Instant::now();
    scene.ask_agent_to_stop();
    scene.until_agent_ended().await?;
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "half of what it would wait"
    );
    Ok(())
}
