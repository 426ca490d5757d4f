//! The power is cut in the initramfs of the trial. The old system boots and tries once more.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cut-in-the-initramfs",
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
    let from = rig.console().len();
    rig.wait_console(from, names::TRIAL_ARGUMENT, 3 * MINUTE)
        .await?;
    rig.wait_console(from, "Running in initrd", MINUTE).await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "the trial was booted a second time by itself"
    );
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(
        view.status.is_some_and(|status| status.tries == 2),
        "the lost trial was not counted"
    );
    Ok(())
}
