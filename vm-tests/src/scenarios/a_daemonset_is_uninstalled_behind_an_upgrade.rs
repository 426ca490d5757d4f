//! Deleting a DaemonSet deletes its pod and nothing else. An uninstall in the middle of an upgrade
//! is refused: the pod says so, is not ready and removes nothing. The upgrade ends normally, and
//! then the pod removes everything.

use super::prelude::*;
use crate::daemonset::{
    DaemonSet, delete, expect_agent, expect_installed, expect_not_ready, expect_removed, process,
    rolled_out, said,
};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-is-uninstalled-behind-an-upgrade",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Newer than the agents in the node's images, which have Cargo's version.
const VERSION: &str = "0.1.98";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let daemonset = DaemonSet::offered(rig, &[VERSION]).await?;
    let before = rig.before().await?;
    rig.progress.step("the DaemonSet comes");
    daemonset.apply(rig, "install", VERSION).await?;
    rolled_out(rig).await?;
    expect_agent(rig, VERSION).await?;

    rig.progress.step("the DaemonSet is deleted");
    let serves = process(rig).await?;
    delete(rig).await?;
    expect_installed(rig).await?;
    expect_agent(rig, VERSION).await?;
    let still = process(rig).await?;
    ensure!(still == serves, "process {serves} served, now {still}");
    rig.progress.step("the DaemonSet comes back");
    daemonset.apply(rig, "install", VERSION).await?;
    rolled_out(rig).await?;

    rig.ask(&image).await?;
    rig.wait_phase("Fetched", UPGRADE).await?;
    // Pause the upgrade, because it may otherwise end before the pod arrives.
    rig.annotate(&[(names::PAUSED, Some("until the pod has spoken"))])
        .await?;
    rig.progress.step("uninstall, in the middle of the upgrade");
    daemonset.apply(rig, "uninstall", VERSION).await?;
    said(rig, "refused: an upgrade of this node is under way").await?;
    expect_not_ready(rig).await?;
    expect_installed(rig).await?;
    expect_agent(rig, VERSION).await?;

    rig.progress.step("the upgrade goes on");
    rig.annotate(&[(names::PAUSED, None)]).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    rig.progress
        .step("now that it has ended the uninstall goes on");
    rolled_out(rig).await?;
    expect_removed(rig).await
}
