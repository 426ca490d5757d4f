//! The API server is away for longer than a trial is held. The old system serves, and the upgrade
//! completes on its own later.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "api-away-for-longer-than-the-hold",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 240\napi-away-hold-seconds = 20")
        .await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.progress.step("the API server goes away");
    rig.plane.stop_api_server();
    let trial = rig.wait_boot(Some(&before.boot)).await?;
    rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "the trial did not give way to the old system"
    );
    rig.wait_uptime(90).await?;
    ensure!(
        rig.trials() == 1,
        "it was tried again though the API server is still away"
    );
    rig.progress.step("the API server comes back");
    rig.plane.start_api_server().await?;
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
