//! A bad image gets its bounded number of trials; then nothing happens until somebody asks anew.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "bad-image-is-tried-then-refused",
    core: false,
    disk: DiskKind::Bios,
    images: &["kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 60").await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["Unhealthy"]).await?;
    let trials = rig.trials();
    rig.progress
        .step("the same request stands on the Node; nothing may happen");
    rig.guest
        .run("systemctl restart careen-agent; sleep 20")
        .await?;
    ensure!(
        rig.trials() == trials,
        "a bad image was tried again unasked"
    );
    rig.progress
        .step("asking again by removing and setting the annotation");
    rig.withdraw().await?;
    rig.ask(&image).await?;
    rig.expect_failed(&["Unhealthy"], UPGRADE).await?;
    ensure!(
        rig.trials() == trials + 1,
        "asked again by removing and setting, and not tried"
    );
    rig.progress.step("asking again with a new id");
    rig.annotate(&[(names::UPGRADE_ID, Some("once-more"))])
        .await?;
    rig.ask(&image).await?;
    rig.expect_failed(&["Unhealthy"], UPGRADE).await?;
    ensure!(
        rig.trials() == trials + 2,
        "asked again with a new id, and not tried"
    );
    rig.expect_old_system(&before).await
}
