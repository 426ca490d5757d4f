//! The clock jumps to 2040 during the drain, and back. No deadline expires because of it, and the
//! upgrade succeeds.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "clock-jumps-during-the-drain",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Years ahead no certificate of the cluster is valid, so the node sees its API server as away.
const JUMP: &str = "date +%s >/run/now; date -s 2040-01-01 >/dev/null";
/// Sets the clock back, to a minute after the jump.
const BACK: &str = "date -s @$(($(cat /run/now) + 60)) >/dev/null";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    rig.guest.run(JUMP).await?;
    rig.progress.step("it is 2040 on the node");
    // Longer than the agent takes to look again, much shorter than the drain's deadline.
    rig.wait_guest("sleep 45").await?;
    rig.guest.run(BACK).await?;
    rig.progress.step("it is now again");
    let view = rig.node.now();
    ensure!(
        view.answer.as_deref() == Some(Answer::InProgress.as_str()) && !view.schedulable,
        "the jump ended the drain: {view:#?}"
    );
    workload::allow_unavailable(&client, 1).await?;
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
