//! The power goes after the one-shot is written and before the reboot: the trial is the next boot, as was meant, and the only one.

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
    // The agent writes this down when the one-shot is flushed to the disk, and asks for the reboot after that.
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
