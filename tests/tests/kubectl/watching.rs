//! Watches upgrades to their end. The real agent performs them on a simulated machine.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use careen_tests::cluster::{PATIENCE, plane};
use careen_tests::machine::{NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{TestNode, annotation};
use careen_tests::scene::Scene;
use careen_tests::wire::State;
use clap::Parser;
use k8s_openapi::api::core::v1::Node;
use kube::api::DeleteParams;
use kubectl::cli::Cli;
use kubectl::console::Console;
use kubectl::exit::Exit;
use kubectl::render::Look;
use serde_json::json;
use upgrade::names;
use upgrade::observe::Check;

use crate::person::{answer, answer_first, careen, kubeconfig_over, own_nodes, value};

fn upgrade(node: &TestNode, more: &str) -> String {
    format!(
        "upgrade {} --image {NEW_IMAGE} --yes --watch{more}",
        node.name
    )
}

#[tokio::test]
async fn an_upgrade_that_is_watched_ends_with_it() -> Result<()> {
    let _own = own_nodes().await;
    let mut scene = Scene::new("watched").await?;
    let line = upgrade(&scene.node, "");
    let (ran, rebooted) = tokio::join!(careen(&line), scene.reboot());
    rebooted?;
    let ran = ran?.with(Exit::Done)?;
    let last = ran.out.lines().last().unwrap_or_default();
    assert_eq!(last, format!("{}: Upgraded", scene.node.name));
    Ok(())
}

#[tokio::test]
async fn one_that_fails_ends_with_its_reason_and_a_code_of_its_own() -> Result<()> {
    let _own = own_nodes().await;
    let mut scene = Scene::new("watched-bad").await?;
    let broken = ("disk".to_owned(), Check::Broken("no /dev/sdb".to_owned()));
    scene
        .machine
        .set_local(|local| local.required = vec![broken]);
    let line = upgrade(&scene.node, "");
    let reboots = async {
        scene.reboot().await?;
        scene.reboot().await
    };
    let (ran, rebooted) = tokio::join!(careen(&line), reboots);
    rebooted?;
    let ran = ran?.with(Exit::Failed)?;
    ensure!(
        ran.out
            .contains("Failed: required check disk failed: no /dev/sdb"),
        "{ran:?}"
    );
    ensure!(ran.err.contains("kubectl careen explain"), "{ran:?}");
    let told = careen(&format!("explain {}", scene.node.name))
        .await?
        .with(Exit::Done)?;
    ensure!(
        told.out.contains("UserCheck: required check disk failed"),
        "{told:?}"
    );
    Ok(())
}

#[tokio::test]
async fn time_that_is_over_stops_the_watching_and_not_the_upgrade() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("slow").await?;
    let ran = careen(&upgrade(&node, " --timeout 1s"))
        .await?
        .with(Exit::Timeout)?;
    ensure!(
        ran.err
            .contains(&format!("not ended in time: {}", node.name)),
        "{ran:?}"
    );
    assert_ne!(value(&node.now().await?, names::REQUEST), None);
    Ok(())
}

#[tokio::test]
async fn one_by_one_stops_at_the_first_that_fails() -> Result<()> {
    let _own = own_nodes().await;
    let nodes = [
        TestNode::new("first").await?,
        TestNode::new("second").await?,
        TestNode::new("third").await?,
    ];
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let line = format!(
        "upgrade {} --image {NEW_IMAGE} --yes --one-by-one",
        names.join(" ")
    );
    let agents = async {
        let asked = |node: &Node| !annotation(node, names::REQUEST).is_empty();
        nodes[0].until("the first asked", &asked).await?;
        ensure!(
            !asked(&nodes[1].now().await?),
            "each waits for the one before"
        );
        answer_first(&nodes[0], "Upgraded", json!({})).await?;
        answer_first(&nodes[1], "Failed", json!({ "reason": "no" })).await
    };
    let (ran, answered) = tokio::join!(careen(&line), agents);
    answered?;
    let ran = ran?.with(Exit::Failed)?;
    let stopped = format!("stopped at {}; not asked: {}", names[1], names[2]);
    ensure!(ran.err.contains(&stopped), "{ran:?}");
    assert_eq!(value(&nodes[2].now().await?, names::REQUEST), None);
    Ok(())
}

/// The node then shows the answer to an older request.
#[tokio::test]
async fn watch_fails_when_the_request_is_withdrawn() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("dropped").await?;
    node.ask_for(OLD_IMAGE).await?;
    answer(&node, "Upgraded", json!({})).await?;
    let taken_back = async {
        let asked = |node: &Node| annotation(node, names::IMAGE) == NEW_IMAGE;
        node.until("the request", &asked).await?;
        careen(&format!("cancel {}", node.name))
            .await?
            .with(Exit::Done)
    };
    let line = upgrade(&node, "");
    let (ran, cancelled) = tokio::join!(careen(&line), taken_back);
    cancelled?;
    let ran = ran?.with(Exit::Failed)?;
    ensure!(ran.err.contains("the request was withdrawn"), "{ran:?}");
    Ok(())
}

#[tokio::test]
async fn watch_exits_with_the_missing_code_when_the_node_is_deleted() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("going").await?;
    let gone = async {
        let asked = |node: &Node| !annotation(node, names::REQUEST).is_empty();
        node.until("the request", &asked).await?;
        node.nodes()
            .delete(&node.name, &DeleteParams::default())
            .await?;
        anyhow::Ok(())
    };
    let line = upgrade(&node, "");
    let (ran, gone) = tokio::join!(careen(&line), gone);
    gone?;
    let ran = ran?.with(Exit::Missing)?;
    ensure!(ran.err.contains("is gone from the cluster"), "{ran:?}");
    Ok(())
}

/// Polls until the condition is true. The caller sets the timeout.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_server_that_goes_away_is_waited_for_and_that_is_said_once() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("outage").await?;
    let kubeconfig = kubeconfig_over(&node.wire, node.folder.path()).await?;
    let begin = ["kubectl-careen", "--kubeconfig", path(&kubeconfig)?];
    let line = upgrade(&node, "");
    let cli = Cli::try_parse_from(begin.into_iter().chain(line.split(' ')))?;
    let (mut console, captured) = Console::captured(Look::default(), None);
    let outage = async {
        until(|| captured.out().contains(": Asked")).await;
        node.wire.set(State::Cut);
        until(|| captured.err().contains("; retrying")).await;
        node.wire.set(State::Open);
        answer(&node, "Upgraded", json!({})).await
    };
    let both = async { tokio::join!(kubectl::run(&cli, &mut console), outage) };
    let (ended, answered) = tokio::time::timeout(PATIENCE, both)
        .await
        .with_context(|| format!("{captured:?}"))?;
    answered?;
    assert_eq!(ended?, Exit::Done, "{captured:?}");
    let said = captured.err();
    assert_eq!(said.matches("; retrying").count(), 1, "{said}");
    Ok(())
}

/// The watch never ends by itself, so the test leaves it after the last phase.
#[tokio::test]
async fn status_watch_prints_each_phase_of_an_upgrade() -> Result<()> {
    let _own = own_nodes().await;
    let mut scene = Scene::new("looked-on").await?;
    let name = scene.node.name.clone();
    let kubeconfig = plane().await?.admin_kubeconfig();
    let begin = ["kubectl-careen", "--kubeconfig", path(&kubeconfig)?];
    let line = ["status", &name, "--watch"];
    let cli = Cli::try_parse_from(begin.into_iter().chain(line))?;
    let (mut console, captured) = Console::captured(Look::default(), None);
    let story = async {
        scene.node.ask_for(NEW_IMAGE).await?;
        scene.reboot().await?;
        until(|| captured.out().contains(&format!("{name}: Upgraded"))).await;
        anyhow::Ok(())
    };
    let both = async {
        tokio::select! {
            ended = kubectl::run(&cli, &mut console) => bail!("it has ended: {ended:?}"),
            told = story => told,
        }
    };
    tokio::time::timeout(PATIENCE, both)
        .await
        .with_context(|| format!("{captured:?}"))??;
    ensure!(captured.out().lines().count() > 2, "{captured:?}");
    Ok(())
}

fn path(file: &Path) -> Result<&str> {
    file.to_str().context("a path of UTF-8")
}
