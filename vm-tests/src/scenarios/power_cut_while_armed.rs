//! The power is cut after the one-shot is written and before the reboot. The next boot is the
//! trial, as intended, and the only one.

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
    // The agent records this after it has flushed the one-shot to the disk, and requests the reboot
    // after that.
    rig.wait_record("\"do\": \"Reboot\"", ":").await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == image.digest,
        "the boot after the power cut was no trial"
    );
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(
        view.status.is_some_and(|status| status.tries == 1),
        "it was armed a second time"
    );
    rig.expect_one_trial()
}
