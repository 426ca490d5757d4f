//! A DaemonSet brings an agent to a node and monitors it there. That agent upgrades the node.

use anyhow::Result;
use rig::Rig;
use rig::daemonset::{DaemonSet, agent, expect_agent, rolled_out};
use rig::images::{DiskKind, ensure_commit};
use rig::progress::Progress;
use testkit::programs::out;
use testkit::registry;
use upgrade::report::Answer;

use super::act::{play, show};
use super::table;

/// Newer than the agents in the node's images, which have Cargo's version.
const VERSION: &str = "0.1.98";

const LIST: [&str; 6] = ["get", "daemonsets,pods", "-n", "careen", "-o", "wide"];

/// Runs the demo.
///
/// # Errors
///
/// Fails when a part does not start, or the demo ends in an unexpected way.
pub async fn run() -> Result<()> {
    let progress = Progress::new("demo-daemonset");
    progress.step("a good image, and a registry for the DaemonSet's: built on first use");
    let good = ensure_commit("v2")?;
    registry::prepare()?;
    progress.step("a cluster and a node that has joined it: frozen on first use, then continued");
    let dir = out().join("demo-daemonset");
    let mut rig = Rig::start(DiskKind::Bios, &dir, progress.clone()).await?;
    rig.plane.miss_silent_nodes_as_kubernetes_does()?;
    rig.before().await?;
    rig.forget_base().await?;
    let daemonset = DaemonSet::offered(&mut rig, &[VERSION]).await?;

    println!("\n== The DaemonSet comes: containerd pulls its image, its pod brings the agent");
    print!("{}", daemonset.apply(&rig, "install", VERSION).await?);
    see_it_run(&mut rig).await?;

    println!("\n== A new image: Kubernetes v1.36 and another kernel");
    let upgrade = play(&mut rig, "daemonset", &good, Answer::Upgraded).await?;
    show(&rig, &["get", "nodes", "-o", "wide"])?;

    println!("\n== The new system has the DaemonSet's agent too");
    see_it_run(&mut rig).await?;

    println!();
    table::print(&[upgrade]);
    Ok(())
}

/// Waits for the pod, and shows it and the agent that it installed.
async fn see_it_run(rig: &mut Rig) -> Result<()> {
    print!("{}", rolled_out(rig).await?);
    expect_agent(rig, VERSION).await?;
    show(rig, &LIST)?;
    println!("\nThe agent that runs: {}", agent(rig).await?);
    Ok(())
}
