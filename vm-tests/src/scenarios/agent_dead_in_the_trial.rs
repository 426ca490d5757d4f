//! The agent never comes up in the trial: the deadman timer acts.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "agent-dead-in-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-agent"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-agent")?;
    let before = rig.before().await?;
    rig.policy("trials = 1\n[health]\ndeadline-seconds = 60")
        .await?;
    rig.ask(&image).await?;
    rig.expect_failed(&["NoVerdict"], 2 * UPGRADE).await?;
    rig.expect_old_system(&before).await
}
