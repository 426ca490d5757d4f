//! A DaemonSet, its image pulled from a registry, brings a newer agent to a node, that agent upgrades the node, and the DaemonSet's own
//! roll-out in the middle of it waits until it has ended. Then an uninstall leaves the image's agent.

use super::prelude::*;
use crate::daemonset::{DaemonSet, expect_agent, expect_removed, rolled_out, said};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-rolls-out-in-the-middle-of-an-upgrade",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Both newer than the agents of the node's images, which are of Cargo's version.
const FIRST: &str = "0.1.98";
const SECOND: &str = "0.1.99";

/// The first agent that was launched in this boot.
const FIRST_OF_THE_BOOT: &str =
    "journalctl --boot --unit careen-agent --output cat --grep '^running ' | head -n 1";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let daemonset = DaemonSet::offered(rig, &[FIRST, SECOND]).await?;
    let before = rig.before().await?;

    rig.progress.step("the DaemonSet comes");
    daemonset.apply(rig, "install", FIRST).await?;
    rolled_out(rig).await?;
    expect_agent(rig, FIRST).await?;
    // Of the agent's log, which it shows as its own.
    said(rig, "watching Node").await?;

    rig.ask(&image).await?;
    rig.wait_phase("Fetched", UPGRADE).await?;
    rig.progress.step("the DaemonSet rolls out another version");
    daemonset.apply(rig, "install", SECOND).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    let first = rig.guest.run(FIRST_OF_THE_BOOT).await?;
    ensure!(
        first.contains(FIRST),
        "the trial was begun by another agent than it was armed by: {first}"
    );

    rig.progress
        .step("now that it has ended the roll-out goes on");
    rolled_out(rig).await?;
    expect_agent(rig, SECOND).await?;

    rig.progress.step("uninstall");
    daemonset.apply(rig, "uninstall", SECOND).await?;
    rolled_out(rig).await?;
    expect_removed(rig).await
}
