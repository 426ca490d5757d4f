//! The new system has no network and the old one has. The image is at fault, not the API server.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "new-system-without-network-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-network"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-network")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 240\napi-away-hold-seconds = 10")
        .await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["NoApiFromNewSystem"])
        .await?;
    Ok(())
}
