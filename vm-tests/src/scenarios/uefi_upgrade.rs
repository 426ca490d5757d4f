//! An upgrade through OVMF, where the ESP holds a constant grub.cfg that points to libostree's.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "uefi-upgrade",
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
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
