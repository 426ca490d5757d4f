//! A bad image on UEFI falls back as on BIOS.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "uefi-fallback",
    core: false,
    disk: DiskKind::Uefi,
    images: &["kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 60").await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["Unhealthy"]).await?;
    Ok(())
}
