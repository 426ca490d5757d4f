//! A trial through OVMF, where the ESP holds a constant grub.cfg that points to libostree's. The
//! power is cut in the trial, and the old system is back. The second trial succeeds.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "uefi-falls-back-and-upgrades",
    core: false,
    disk: DiskKind::Uefi,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.guest.run("test -d /sys/firmware/efi").await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    let trial = rig.wait_boot(Some(&before.boot)).await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "the old system did not come back by itself"
    );
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(
        view.status.is_some_and(|status| status.tries == 2),
        "the lost trial was not counted"
    );
    Ok(())
}
