//! The kubelet runs, but the Node does not become Ready. Such a system is not healthy.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "node-never-ready-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["never-ready"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("never-ready")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 180").await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["Unhealthy"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("the kubelet reports the Node as not Ready"),
        "something else was wrong: {reason}"
    );
    Ok(())
}
