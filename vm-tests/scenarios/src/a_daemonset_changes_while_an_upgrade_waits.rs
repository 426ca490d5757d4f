//! A DaemonSet is updated to an agent that does not start: the previous agent takes over, and the
//! rollout stops until a person sets the previous image again. Deleting a DaemonSet deletes its pod
//! and nothing else.
//!
//! A node's upgrade waits for its operator, possibly for days, and the DaemonSet is updated
//! meanwhile: the node gets the new agent and the rollout completes. An uninstall meanwhile is
//! refused: the pod says so, is not ready and removes nothing. When the operator lets the upgrade
//! continue, the new agent completes it, and then the pod removes everything.

mod broken;

use super::prelude::*;
use broken::gives_way;
use rig::daemonset::{
    DaemonSet, delete, expect_agent, expect_installed, expect_not_ready, expect_removed, process,
    rolled_out, said,
};

use anyhow::Context;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-changes-while-an-upgrade-waits",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later"],
    run: |rig| Box::pin(run(rig)),
};

/// Both, and the broken one between them, are newer than the agents in the node's images, which have Cargo's version.
const FIRST: &str = "0.1.97";
const SECOND: &str = "0.1.99";

/// The agents of this boot. After the uninstall it is the image's own.
const AGENTS_LOG: &str = "journalctl --quiet --boot --unit careen-agent --output cat";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v1-later")?;
    let mut daemonset = DaemonSet::offered(rig, &[FIRST, SECOND]).await?;
    let before = rig.before().await?;
    rig.progress.step("the DaemonSet comes");
    daemonset.apply(rig, "install", FIRST).await?;
    rolled_out(rig).await?;
    gives_way(rig, &mut daemonset, FIRST).await?;
    deleted(rig).await?;
    rig.progress.step("the DaemonSet comes back");
    daemonset.apply(rig, "install", FIRST).await?;
    rolled_out(rig).await?;

    rig.ask(&image).await?;
    rig.wait_phase("Fetched", UPGRADE).await?;
    rig.progress.step("the operator lets it wait");
    rig.annotate(&[(names::PAUSED, Some("the line runs until morning"))])
        .await?;
    updated_meanwhile(rig, &daemonset, &before).await?;
    let serves = process(rig).await?;
    uninstall_is_refused(rig, &daemonset).await?;
    rig.progress.step("it may go on");
    rig.annotate(&[(names::PAUSED, None)]).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    expect_still_serves(rig, &serves).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    rig.progress
        .step("now that it has ended the uninstall goes on");
    rolled_out(rig).await?;
    expect_removed(rig).await?;
    expect_no_other_in_the_trial(rig).await
}

/// Only the pod goes.
async fn deleted(rig: &mut Rig) -> Result<()> {
    rig.progress.step("the DaemonSet is deleted");
    let serves = process(rig).await?;
    delete(rig).await?;
    expect_installed(rig).await?;
    expect_agent(rig, FIRST).await?;
    expect_still_serves(rig, &serves).await
}

async fn expect_still_serves(rig: &mut Rig, process: &str) -> Result<()> {
    let still = self::process(rig).await?;
    ensure!(still == process, "process {process} served, now {still}");
    Ok(())
}

/// The node gets the new agent, and nothing happens on the way to a trial.
async fn updated_meanwhile(rig: &mut Rig, daemonset: &DaemonSet, before: &Before) -> Result<()> {
    rig.progress.step("the DaemonSet is updated meanwhile");
    daemonset.apply(rig, "install", SECOND).await?;
    rolled_out(rig).await?;
    expect_agent(rig, SECOND).await?;
    let phase = rig.node.now().phase().to_owned();
    ensure!(
        ["Fetched", "Verified"].contains(&phase.as_str()),
        "it waits, and is {phase}"
    );
    let boot = rig.before().await?.boot;
    ensure!(boot == before.boot, "it waits, and the node has rebooted");
    rig.expect_schedulable()
}

async fn uninstall_is_refused(rig: &mut Rig, daemonset: &DaemonSet) -> Result<()> {
    rig.progress.step("uninstall, in the middle of the upgrade");
    daemonset.apply(rig, "uninstall", SECOND).await?;
    said(rig, "refused: an upgrade of this node is under way").await?;
    expect_not_ready(rig).await?;
    expect_installed(rig).await?;
    expect_agent(rig, SECOND).await
}

async fn expect_no_other_in_the_trial(rig: &mut Rig) -> Result<()> {
    let log = rig.guest.run(AGENTS_LOG).await?;
    let (trial, _) = log
        .split_once("\nBlessed")
        .context("the agent's log does not say Blessed")?;
    let ran = trial.lines().filter(|line| line.starts_with("running "));
    let ran: Vec<_> = ran.collect();
    let second = format!("running {SECOND} ");
    ensure!(
        !ran.is_empty() && ran.iter().all(|line| line.starts_with(&second)),
        "launched in the trial: {ran:#?}"
    );
    Ok(())
}
