//! The power is cut while the node writes the new system. The old one boots, and the upgrade
//! continues.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cut-while-deploying",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const DEPLOYS: &str = "pgrep -f 'careen-deploy deploy' >/dev/null";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_guest(&format!("until {DEPLOYS}; do sleep 0.1; done; sleep 2"))
        .await?;
    let deploys = rig.guest.try_run(DEPLOYS, MINUTE).await?;
    rig.cut_power()?;
    ensure!(
        deploys.code == 0,
        "the deployment was there before the power went"
    );
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
