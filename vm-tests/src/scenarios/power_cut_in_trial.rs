//! The power is cut in the trial, before the verdict. The old system boots, nothing is judged bad,
//! and the second trial succeeds.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cut-in-trial",
    core: true,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    let trial = rig.wait_boot(Some(&before.boot)).await?;
    ensure!(
        rig.booted().await? == image.digest,
        "the boot after arming was no trial"
    );
    rig.cut_power()?;
    rig.power_on().await?;
    let old = rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "the old system did not come back by itself"
    );
    rig.progress
        .step("the old system is back; waiting for the second trial");
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(
        rig.boot_id().await? != old,
        "Upgraded without a second trial"
    );
    ensure!(
        view.status.is_some_and(|status| status.tries == 2),
        "the lost trial was not counted"
    );
    Ok(())
}
