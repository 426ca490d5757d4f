//! A node's upgrade waits for its operator, possibly for days, and the DaemonSet is updated
//! meanwhile. The node gets the new agent and the rollout completes. When the operator lets the
//! upgrade continue, the new agent completes it.

use super::prelude::*;
use crate::daemonset::{DaemonSet, expect_agent, process, rolled_out};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-is-updated-while-an-upgrade-waits",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Both are newer than the agents in the node's images, which have Cargo's version.
const FIRST: &str = "0.1.98";
const SECOND: &str = "0.1.99";

/// The agents that were launched in this boot.
const LAUNCHED: &str =
    "journalctl --quiet --boot --unit careen-agent --output cat --grep '^running '";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let daemonset = DaemonSet::offered(rig, &[FIRST, SECOND]).await?;
    let before = rig.before().await?;
    rig.progress.step("the DaemonSet comes");
    daemonset.apply(rig, "install", FIRST).await?;
    rolled_out(rig).await?;
    expect_agent(rig, FIRST).await?;

    rig.ask(&image).await?;
    rig.wait_phase("Fetched", UPGRADE).await?;
    rig.progress.step("the operator lets it wait");
    rig.annotate(&[(names::PAUSED, Some("the line runs until morning"))])
        .await?;
    rig.progress.step("the DaemonSet is updated meanwhile");
    daemonset.apply(rig, "install", SECOND).await?;
    rolled_out(rig).await?;
    expect_agent(rig, SECOND).await?;
    expect_still_waiting(rig, &before).await?;

    rig.progress.step("it may go on");
    let serves = process(rig).await?;
    rig.annotate(&[(names::PAUSED, None)]).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    let still = process(rig).await?;
    ensure!(still == serves, "agent {serves} served, now {still}");
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    expect_agent(rig, SECOND).await?;
    expect_no_other_in_the_trial(rig).await
}

/// Checks that nothing has happened on the way to a trial.
async fn expect_still_waiting(rig: &mut Rig, before: &Before) -> Result<()> {
    let view = rig.node.now();
    let phase = view.phase().to_owned();
    ensure!(
        ["Fetched", "Verified"].contains(&phase.as_str()),
        "it waits, and is {phase}"
    );
    let boot = rig.before().await?.boot;
    ensure!(boot == before.boot, "it waits, and the node has rebooted");
    rig.expect_schedulable()
}

async fn expect_no_other_in_the_trial(rig: &mut Rig) -> Result<()> {
    let launched = rig.guest.run(LAUNCHED).await?;
    let other = launched.lines().find(|line| !line.contains(SECOND));
    ensure!(
        other.is_none() && !launched.is_empty(),
        "launched in the trial: {launched}"
    );
    Ok(())
}
