//! If the agent of an update does not start, the previous agent takes over and serves for as long
//! as necessary. The pod says why and is not ready, so the rollout stops. To recover, a person only
//! sets the previous image again.

use super::prelude::*;
use rig::daemonset::{DaemonSet, agent_is_back, expect_agent, expect_not_ready, rolled_out, said};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-whose-agent-does-not-start-gives-way",
    core: false,
    disk: DiskKind::Bios,
    images: &[],
    run: |rig| Box::pin(run(rig)),
};

/// Both are newer than the agent in the node's image, which has Cargo's version.
const GOOD: &str = "0.1.98";
const BROKEN: &str = "0.1.99";

async fn run(rig: &mut Rig) -> Result<()> {
    let mut daemonset = DaemonSet::offered(rig, &[GOOD]).await?;
    daemonset.offer_broken(rig, BROKEN).await?;
    rig.before().await?;
    rig.progress.step("the DaemonSet comes");
    daemonset.apply(rig, "install", GOOD).await?;
    rolled_out(rig).await?;
    expect_agent(rig, GOOD).await?;

    rig.progress
        .step("it is updated to an agent that does not start");
    daemonset.apply(rig, "install", BROKEN).await?;
    // First the agent's own log, which the pod shows; then the pod's verdict.
    said(rig, "careen-agent: broken on purpose").await?;
    said(rig, "was started 3 times and did not run").await?;
    agent_is_back(rig, GOOD).await?;
    for role in ["wanted", "proven"] {
        expect_link(rig, role, GOOD).await?;
    }
    // Longer than an agent must run to count as working.
    rig.guest.run_within("sleep 90", 10 * MINUTE).await?;
    expect_agent(rig, GOOD).await?;
    expect_not_ready(rig).await?;

    rig.progress.step("the image of before is named again");
    daemonset.apply(rig, "install", GOOD).await?;
    rolled_out(rig).await?;
    expect_agent(rig, GOOD).await
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
