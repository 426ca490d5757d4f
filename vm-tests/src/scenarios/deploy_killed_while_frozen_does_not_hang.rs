//! careen-deploy is killed while /boot is frozen for the swap. The node thaws it and continues.
//!
//! The rig freezes /boot itself, at another moment of the same run. libostree's own freeze lasts
//! milliseconds, too short to hit with a kill from outside.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "deploy-killed-while-frozen-does-not-hang",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_guest("until pgrep -f 'careen-deploy deploy' >/dev/null; do sleep 0.05; done")
        .await?;
    rig.wait_guest("sleep 1; fsfreeze --freeze /boot && pkill -9 -f 'careen-deploy deploy'")
        .await?;
    rig.progress.step("killed with /boot frozen");
    rig.guest
        .run("touch /boot/thawed && rm /boot/thawed")
        .await?;
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
