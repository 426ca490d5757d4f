//! An initramfs that skips ostree-prepare-root would enter the physical root. The guard's second
//! check ends that boot.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "prepare-root-skipped-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-prepare-root"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-prepare-root")?;
    let before = rig.before().await?;
    rig.policy("trials = 1").await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["StageRefused"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("ostree-prepare-root"),
        "the reason does not say what was skipped: {reason}"
    );
    rig.expect_one_trial()
}
