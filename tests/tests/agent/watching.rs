//! How the agent learns of a request.

use std::sync::Arc;
use std::time::Duration;

use agent::cluster::{Cluster, SILENCE};
use agent::runner::{Known, Work};
use agent::step::{Held, Tools};
use anyhow::{Context, Result};
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::{Fault, NEW_IMAGE, OLD_IMAGE, TestMachine};
use careen_tests::node::{annotation, condition};
use careen_tests::scene::Scene;
use careen_tests::token::Place;
use careen_tests::wire::State;
use serde_json::json;
use tokio::sync::watch;
use upgrade::{Membership, Outcome, Step, Version, names};

/// How long the test observes an idle agent. The test detects an agent that polls every ten seconds
/// or faster half the time, and one that polls every second always.
const IDLE: Duration = Duration::from_secs(5);

/// The lifetime of a certificate that is about to expire: long enough for a first answer next to
/// half a dozen other tests.
const VALID: Duration = Duration::from_secs(20);

#[tokio::test]
async fn an_idle_agent_sends_nothing_to_the_server() -> Result<()> {
    let scene = Scene::new("idle").await?;
    // The agent answers once, so that all initial work is done.
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    let (sent, connections) = until_silent(&scene).await?;
    tokio::time::sleep(IDLE).await;
    assert_eq!(
        (scene.node.wire.sent(), scene.node.wire.connections()),
        (sent, connections)
    );
    Ok(())
}

/// The bytes sent and the number of connections, after the last write. The agent sends Events
/// separately, after the answer.
async fn until_silent(scene: &Scene) -> Result<(u64, u64)> {
    let wire = &scene.node.wire;
    let silent = async {
        loop {
            let before = (wire.sent(), wire.connections());
            tokio::time::sleep(IDLE / 2).await;
            if before == (wire.sent(), wire.connections()) {
                return before;
            }
        }
    };
    let told = tokio::time::timeout(PATIENCE, silent).await;
    told.context("it never stops sending")
}

/// P6 measures the latency (`make bench`). This test proves that the watch alone delivers the
/// request, because an idle agent does not poll.
#[tokio::test]
async fn an_idle_agent_hears_of_a_second_request() -> Result<()> {
    let scene = Scene::new("prompt").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    let (_, connections) = until_silent(&scene).await?;
    scene
        .node
        .annotate(json!({ names::UPGRADE_ID: "second" }))
        .await?;
    scene
        .node
        .until("the second answer", &|node| {
            annotation(node, names::STATUS).contains("second")
        })
        .await?;
    assert_eq!(scene.node.wire.connections(), connections);
    Ok(())
}

#[tokio::test]
async fn a_step_that_comes_further_leaves_the_machine_to_its_work() -> Result<()> {
    let scene = Scene::new("creeps").await?;
    scene.machine.fault("Fetch", Some(Fault::Creeps));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Fetch", 0).await;
    let before = scene.machine.seen();
    scene.machine.until_crept().await;
    // The agent inspects the machine after a change of the Node, but not after a hundred progress
    // reports of the step.
    let looks = scene.machine.seen() - before;
    assert!(looks < 20, "{looks} looks at the machine");
    Ok(())
}

#[tokio::test]
async fn what_is_paused_is_begun_when_the_pause_ends() -> Result<()> {
    let scene = Scene::new("paused").await?;
    scene
        .node
        .annotate(json!({ names::PAUSED: "stocktaking" }))
        .await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    // The agent says that it has the request and waits.
    let waits = |node: &_| condition(node).is_some_and(|told| told.1 == "Paused");
    scene.node.until("the wait is told", &waits).await?;
    assert!(scene.machine.begun().is_empty());
    scene.node.annotate(json!({ names::PAUSED: null })).await?;
    scene.machine.until_begun("Fetch", 0).await;
    Ok(())
}

#[tokio::test]
async fn a_new_client_certificate_is_used_once_the_kubelet_has_it() -> Result<()> {
    let scene = Scene::new("rotates").await?;
    scene.node.give_credential(VALID).await?;
    let run_out = tokio::time::Instant::now() + VALID + Duration::from_secs(1);
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    // The server then rejects the certificate, on open connections too.
    tokio::time::sleep_until(run_out).await;
    scene
        .node
        .give_credential(Duration::from_secs(3600))
        .await?;
    scene
        .node
        .annotate(json!({ names::UPGRADE_ID: "second" }))
        .await?;
    scene
        .node
        .until("the second answer", &|node| {
            annotation(node, names::STATUS).contains("second")
        })
        .await?;
    Ok(())
}

/// Replaces the token while the agent runs. The agent must answer with only the new token, on open
/// and on new connections.
async fn a_token_is_replaced(place: Place, [first, second]: [&str; 2]) -> Result<()> {
    let mut scene = Scene::new(first).await?;
    let node = &scene.node;
    node.allow_tokens().await?;
    let (first, second) = (node.new_token(first).await?, node.new_token(second).await?);
    node.give_token(&first, place).await?;
    scene.kill_agent()?;
    scene.start_agent()?;
    let node = &scene.node;
    node.ask_for(OLD_IMAGE).await?;
    node.until_answered("Upgraded").await?;
    node.give_token(&second, place).await?;
    node.take_back(&first).await?;
    for id in ["replaced", "reconnected"] {
        node.annotate(json!({ names::UPGRADE_ID: id })).await?;
        let answered = |node: &_| annotation(node, names::STATUS).contains(id);
        node.until(id, &answered).await?;
        let again = node.wire.until_more_connections(node.wire.connections());
        node.wire.set(State::Cut);
        tokio::time::timeout(PATIENCE, again).await?;
        node.wire.set(State::Open);
    }
    Ok(())
}

#[tokio::test]
async fn a_new_token_in_its_file_is_used_once_it_is_there() -> Result<()> {
    a_token_is_replaced(Place::File, ["filed1", "filed2"]).await
}

#[tokio::test]
async fn a_new_token_in_kubelet_conf_is_used_once_it_is_there() -> Result<()> {
    a_token_is_replaced(Place::Inline, ["plain1", "plain2"]).await
}

#[tokio::test]
async fn a_certificate_that_ran_out_is_waited_out() -> Result<()> {
    let mut scene = Scene::new("expired").await?;
    scene.kill_agent()?;
    scene.node.give_credential(Duration::from_secs(1)).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let wire = &scene.node.wire;
    let tries = wire.connections();
    scene.start_agent()?;
    scene.node.ask_for(OLD_IMAGE).await?;
    // It tries with that certificate. The server answers 401 and keeps the connection.
    let tried = scene.node.wire.until_more_connections(tries);
    tokio::time::timeout(PATIENCE, tried).await?;
    assert_eq!(annotation(&scene.node.now().await?, names::ANSWER), "");
    scene
        .node
        .give_credential(Duration::from_secs(3600))
        .await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn a_kubelet_conf_that_is_not_there_yet_is_waited_for() -> Result<()> {
    let mut scene = Scene::new("joins").await?;
    scene.kill_agent()?;
    let aside = scene.node.folder.path().join("aside");
    std::fs::rename(&scene.node.kubeconfig, &aside)?;
    scene.start_agent()?;
    scene.node.ask_for(OLD_IMAGE).await?;
    // It runs without that file, and reaches no server.
    let runs = scene.machine.until_seen(scene.machine.seen());
    tokio::time::timeout(PATIENCE, runs).await?;
    std::fs::rename(aside, &scene.node.kubeconfig)?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

/// How a step ends that a server of the version `allowed` has allowed and that begins under the real
/// one, how many steps the machine has begun, and the version that the agent learns of.
async fn begun_under(
    scene: &Scene,
    step: Step,
    allowed: &Version,
) -> Result<(Outcome, usize, Option<Version>)> {
    let folder = tempfile::tempdir()?;
    let machine = TestMachine::new(folder.path());
    let tools = Tools {
        node: Arc::new(machine.clone()),
        cluster: Arc::new(Cluster::new(&scene.node.kubeconfig, SILENCE)),
        told: watch::channel(true).1,
        held: Held::default(),
        volumes: folder.path().join("volumes.json").into(),
    };
    let known = Known {
        node: None,
        membership: Membership::Joined,
        server: Some(allowed.clone()),
    };
    let mut work = Work::begin(tools, step, None, known, Arc::default());
    let ending = loop {
        if let Some(ending) = work.news().await {
            break ending;
        }
    };
    let begun = machine.begun().len();
    Ok((ending.finished.outcome, begun, ending.server))
}

/// A server that is upgraded keeps the agent's watch.
#[tokio::test]
async fn step_begins_only_under_the_version_that_allowed_it() -> Result<()> {
    let scene = Scene::new("versions").await?;
    let older: Version = "v1.30.0".parse()?;
    let (outcome, begun, server) = begun_under(&scene, Step::PreHooks, &older).await?;
    assert_eq!((outcome, begun), (Outcome::Cancelled, 0));
    let now = server.context("the agent has learned of no other version")?;
    assert_ne!(now, older);
    let (outcome, begun, server) = begun_under(&scene, Step::PreHooks, &now).await?;
    assert_ne!(outcome, Outcome::Cancelled);
    assert_eq!((begun, server), (1, None));
    let (outcome, begun, _) = begun_under(&scene, Step::Clean, &older).await?;
    assert_ne!(outcome, Outcome::Cancelled, "no version allows it");
    assert_eq!(begun, 1);
    Ok(())
}
