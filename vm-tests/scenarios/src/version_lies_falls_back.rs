//! The kubelet of an image has another version than the image says. The system is otherwise
//! healthy, but it is not what was requested.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "version-lies-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["version-lies"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("version-lies")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 180").await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["Unhealthy"]).await?;
    let reason = view.reason.unwrap_or_default();
    // It contains the kubelet that already runs.
    let found = format!("the kubelet is {}", before.kubelet);
    ensure!(
        reason.contains(&found),
        "something else was wrong: {reason}"
    );
    rig.expect_one_trial()
}
