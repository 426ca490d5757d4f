//! An operator annotates a Node. It upgrades itself, then gets a bad image and falls back on its
//! own.

use anyhow::Result;
use rig::Rig;
use rig::images::{DiskKind, ensure_commit};
use rig::node::NAME;
use rig::progress::Progress;
use testkit::programs::out;
use testkit::ticker::Ticker;
use upgrade::names;
use upgrade::report::Answer;

use super::act::{kubectl, play, show};
use super::{samples, table};

/// Runs the demo.
///
/// # Errors
///
/// Fails when a part does not start, or the demo ends in an unexpected way.
pub async fn run() -> Result<()> {
    let progress = Progress::new("demo");
    progress.step("two good images and a bad one: built on first use, then from the cache");
    let (good, bad) = (ensure_commit("v2")?, ensure_commit("kubelet-crash")?);
    progress.step("a cluster and a node that has joined it: frozen on first use, then continued");
    let ticker = Ticker::begin("the node");
    let mut rig = Rig::start(DiskKind::Bios, &out().join("demo"), progress.clone()).await?;
    rig.plane.miss_silent_nodes_as_kubernetes_does()?;
    rig.before().await?;
    rig.forget_base().await?;
    ticker.end();
    let samples = samples::Samples::begin(&mut rig).await?;
    show(
        &rig,
        &["get", "nodes,pods,poddisruptionbudgets", "-o", "wide"],
    )?;

    println!("\n== A new image: Kubernetes v1.36 and another kernel");
    let upgrade = play(&mut rig, "upgrade", &good, Answer::Upgraded).await?;
    show(&rig, &["get", "nodes", "-o", "wide"])?;

    println!("\n== A bad image: its kubelet never gets healthy");
    let health = "[health]\ndeadline-seconds = 60";
    let metrics = samples.as_ref().map_or("", |_| samples::POLICY);
    rig.policy(&format!("{health}\n{metrics}")).await?;
    kubectl(
        &rig,
        &["annotate", "node", NAME, &format!("{}-", names::REQUEST)],
    )?;
    let fallback = play(&mut rig, "bad image", &bad, Answer::Failed).await?;
    show(&rig, &["get", "nodes", "-o", "wide"])?;
    println!(
        "\nWhy, as the Node says: {}",
        rig.node.now().reason.unwrap_or_default()
    );

    println!();
    table::print(&[upgrade, fallback]);
    if let Some(samples) = samples {
        samples.end().await;
    }
    Ok(())
}
