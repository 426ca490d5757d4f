//! An initramfs that cannot find its root opens no shell and waits for nobody: the old system comes back.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "initramfs-without-its-root-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-root"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-root")?;
    let before = rig.before().await?;
    rig.policy("trials = 1").await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["NoVerdict", "StageRefused"])
        .await?;
    rig.expect_one_trial()?;
    // By its record this trial has never begun: it died before the guard.
    rig.expect_nothing_owed().await
}
