//! An initramfs that cannot find its root opens no shell and does not wait for a person. The old
//! system comes back.

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
    // According to the record this trial never began, because it ended before the guard ran.
    rig.expect_nothing_owed().await
}
