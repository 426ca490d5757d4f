//! The new system's initramfs hangs forever after our guard. The deadman in the initramfs ends the
//! trial, and the old system is back.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "initramfs-hangs-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["initramfs-hangs"],
    run: |rig| Box::pin(run(rig)),
};

/// The initramfs deadman is due at 180 s. The margin allows for the console's clock, which differs
/// from the deadman's.
const DEADMAN: u32 = 180 - 20;

/// The real root's deadman would have allowed the trial the policy's 600 s plus a minute.
const DEADMAN_OF_THE_REAL_ROOT: u32 = 600 + 60 - 20;

const SAYS: &str = "the trial reached no verdict in time";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("initramfs-hangs")?;
    let before = rig.before().await?;
    rig.policy("trials = 1").await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["NoVerdict"]).await?;
    rig.expect_one_trial()?;
    rig.expect_trial_lasted(DEADMAN)?;
    ensure!(
        rig.expect_trial_lasted(DEADMAN_OF_THE_REAL_ROOT).is_err(),
        "the trial came out of its initramfs"
    );
    ensure!(
        rig.console().contains(SAYS),
        "the deadman has not said that it ends the trial"
    );
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}
