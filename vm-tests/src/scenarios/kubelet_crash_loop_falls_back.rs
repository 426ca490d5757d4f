//! The new kubelet never becomes healthy. The old system is back, schedulable, and the Node says
//! why.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kubelet-crash-loop-falls-back",
    core: true,
    disk: DiskKind::Bios,
    images: &["kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 270").await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["Unhealthy"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("kubelet"),
        "the reason does not name the kubelet: {reason}"
    );
    ensure!(
        rig.trials() == 1,
        "a definite verdict was tried {} times",
        rig.trials()
    );
    Ok(())
}
