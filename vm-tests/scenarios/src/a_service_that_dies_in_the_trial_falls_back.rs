//! The Node is Ready, and a service of the new image does not run: its user is missing. The trial
//! fails, and the Node names the unit.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-service-that-dies-in-the-trial-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["service-dies"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("service-dies")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 240").await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["ServesLess"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("unit rig-dies.service fails") && reason.contains("217"),
        "the reason does not name the unit and its exit status: {reason}"
    );
    Ok(())
}
