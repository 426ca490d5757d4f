//! An update to an agent that does not start, on the way between two that do.

use rig::daemonset::{DaemonSet, agent_is_back, expect_agent, expect_not_ready, rolled_out, said};

use super::super::prelude::*;

/// Newer than the version that runs, and older than the next one.
const BROKEN: &str = "0.1.98";

/// Checks that `good` takes over, serves for as long as necessary, and is wanted again when a
/// person sets its image.
pub(super) async fn gives_way(rig: &mut Rig, daemonset: &mut DaemonSet, good: &str) -> Result<()> {
    daemonset.offer_broken(rig, BROKEN).await?;
    rig.progress
        .step("it is updated to an agent that does not start");
    daemonset.apply(rig, "install", BROKEN).await?;
    // First the agent's own log, which the pod shows; then the pod's verdict.
    said(rig, "careen-agent: broken on purpose").await?;
    said(rig, "was started 3 times and did not run").await?;
    agent_is_back(rig, good).await?;
    for role in ["wanted", "proven"] {
        expect_link(rig, role, good).await?;
    }
    // Longer than an agent must run to count as working.
    rig.guest.run_within("sleep 90", 10 * MINUTE).await?;
    expect_agent(rig, good).await?;
    expect_not_ready(rig).await?;

    rig.progress.step("the image of before is named again");
    daemonset.apply(rig, "install", good).await?;
    rolled_out(rig).await?;
    expect_agent(rig, good).await
}

/// Checks which version has this role among the agents that pods installed.
async fn expect_link(rig: &mut Rig, role: &str, version: &str) -> Result<()> {
    let read = format!("readlink {}/{role}", names::AGENTS_DIR);
    let id = rig.guest.run(&read).await?;
    ensure!(
        id.starts_with(&format!("{version}-")),
        "{role} is {id}, not {version}"
    );
    Ok(())
}
