//! The power goes after the one-shot is written and before the reboot: the trial is the next boot, as was meant.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cut-while-armed",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
