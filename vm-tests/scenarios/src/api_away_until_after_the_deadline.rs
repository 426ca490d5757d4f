//! The API server is away from before the reboot until after the health deadline. No system is
//! judged bad for it.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "api-away-until-after-the-deadline",
    core: true,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 270").await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.progress.step("the API server goes away");
    rig.plane.stop_api_server();
    rig.wait_boot(Some(&before.boot)).await?;
    rig.wait_uptime(290).await?;
    ensure!(
        rig.booted().await? == image.digest,
        "the trial was given up while only the API server was missing"
    );
    rig.progress.step("the API server comes back");
    rig.plane.start_api_server().await?;
    rig.expect_upgraded(&before, &image).await?;
    ensure!(rig.trials() == 1, "it took {} trial boots", rig.trials());
    Ok(())
}
