//! The power goes while the new system is being written: the old one boots and the upgrade goes on.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cut-while-deploying",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_guest("until pgrep -f 'careen-deploy deploy' >/dev/null; do sleep 0.1; done; sleep 2")
        .await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
