//! The runtime of the new system names a sandbox image that cannot be pulled. Its Node is Ready all
//! the same, and no pod could start. Such a system is not blessed.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "runtime-without-its-pause-image-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-pause"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-pause")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 240").await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["Unhealthy"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("pod sandbox") && reason.contains("registry.example.com/pause:9.9"),
        "something else was wrong: {reason}"
    );
    Ok(())
}
