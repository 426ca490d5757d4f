//! P6: the time from the requester's PATCH until its watch shows the agent's answer.

use std::time::Instant;

use anyhow::{Context, Result};
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::OLD_IMAGE;
use careen_tests::measured::{median, milliseconds, percentile};
use careen_tests::node::{TestNode, annotation};
use careen_tests::row::Row;
use careen_tests::scene::Scene;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::watcher::{Config, Event, watcher};
use serde_json::json;
use tokio::sync::watch;
use upgrade::names;

use super::RUNS;

/// The number of requests in one run.
const REQUESTS: usize = 200;

/// The number of floor measurements in one run.
const FLOORS: usize = 50;

/// Median and p99 of each run. The floor, measured between the runs, is two PATCHes with the same
/// credential over the same wire.
pub async fn measure() -> Result<Vec<Row>> {
    let scene = Scene::new("bench-prompt").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    let mut seen = statuses(&scene.node);
    let (mut medians, mut slowest, mut floors) = (Vec::new(), Vec::new(), Vec::new());
    for run in 1..=RUNS {
        eprintln!("P6: run {run} of {RUNS}");
        let mut times = Vec::new();
        for number in 0..REQUESTS {
            times.push(answer(&scene.node, &mut seen, &format!("run-{run}-{number}")).await?);
        }
        medians.push(median(&times));
        slowest.push(percentile(&times, 99));
        floors.extend(two_patches(&scene.node).await?);
    }
    let floor = format!("two PATCHes: {:.1} ms, p99 ", median(&floors));
    let floor = format!("{floor}{:.1} ms", percentile(&floors, 99));
    let row = |name, runs, target| Row {
        name,
        runs,
        floor: floor.clone(),
        target,
    };
    Ok(vec![
        row("P6 annotation to first status, median, ms", medians, None),
        row("   p99 of 200, ms", slowest, Some(100.0)),
    ])
}

/// Milliseconds until the answer to one request.
async fn answer(node: &TestNode, seen: &mut watch::Receiver<String>, id: &str) -> Result<f64> {
    let quoted = format!("\"{id}\"");
    let start = Instant::now();
    node.annotate(json!({ names::UPGRADE_ID: id })).await?;
    let answered = seen.wait_for(|status| status.contains(&quoted));
    tokio::time::timeout(PATIENCE, answered)
        .await
        .context("no answer")??;
    Ok(milliseconds(start))
}

/// The agent's status as one continuous watch shows it.
fn statuses(node: &TestNode) -> watch::Receiver<String> {
    let (sender, seen) = watch::channel(String::new());
    let config = Config::default().fields(&format!("metadata.name={}", node.name));
    let nodes = node.nodes();
    tokio::spawn(async move {
        let mut events = std::pin::pin!(watcher(nodes, config));
        while let Some(event) = events.next().await {
            if let Ok(Event::Apply(node) | Event::InitApply(node)) = event {
                sender.send_replace(annotation(&node, names::STATUS).to_owned());
            }
        }
    });
    seen
}

/// Two PATCHes, one after the other, like a request and its answer.
async fn two_patches(node: &TestNode) -> Result<Vec<f64>> {
    let nodes: Api<Node> = Api::all(node.as_kubelet().await?);
    let mut times = Vec::new();
    for number in 0..FLOORS {
        let start = Instant::now();
        for half in 0..2 {
            let body = json!({ "metadata": { "annotations": { "careen.dev/floor": format!("{number}-{half}") } } });
            nodes
                .patch(&node.name, &PatchParams::default(), &Patch::Merge(body))
                .await?;
        }
        times.push(milliseconds(start));
    }
    Ok(times)
}
