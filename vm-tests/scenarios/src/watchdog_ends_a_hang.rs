//! In the new system nothing can run any more, including systemd and the deadman. The hardware
//! watchdog resets the machine, and the old system is back.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "watchdog-ends-a-hang",
    core: false,
    disk: DiskKind::Bios,
    images: &["deaf"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("deaf")?;
    let before = rig.before().await?;
    rig.policy("trials = 1").await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["NoVerdict"]).await?;
    rig.expect_one_trial()?;
    // Nothing in that system requested the reset.
    ensure!(
        rig.expect_trial_lasted(0).is_err(),
        "the trial was ended from within, not by the watchdog"
    );
    Ok(())
}
