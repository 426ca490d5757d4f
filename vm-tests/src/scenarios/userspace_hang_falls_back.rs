//! Userspace hangs before the agent could start: the deadman ends the trial.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "userspace-hang-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["hang"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("hang")?;
    let before = rig.before().await?;
    rig.policy("trials = 1\n[health]\ndeadline-seconds = 60")
        .await?;
    rig.ask(&image).await?;
    let view = rig.expect_failed(&["NoVerdict"], 2 * UPGRADE).await?;
    ensure!(
        view.boot != before.boot || rig.boot_id().await? != before.boot,
        "there was no trial"
    );
    rig.expect_old_system(&before).await
}
