//! The power goes when the new system is the default and nobody knows yet: it boots, and says Upgraded.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cut-between-bless-and-report",
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
    rig.wait_boot(Some(&before.boot)).await?;
    let swapped =
        "at() { readlink /boot/loader; }; old=$(at); until [ $(at) != $old ]; do sleep 0.05; done";
    rig.wait_guest(&format!("{BOOT_IS_THERE}; {swapped}"))
        .await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == image.digest,
        "the blessed system is not the default"
    );
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
