//! Somebody cordoned the node earlier. The upgrade succeeds and does not remove a cordon that is
//! not its own.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "foreign-cordon-stays",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2-same-kernel"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2-same-kernel")?;
    rig.before().await?;
    rig.patch(json!({"spec": {"unschedulable": true}})).await?;
    rig.ask(&image).await?;
    let view = rig.wait_answer(Answer::Upgraded, UPGRADE).await?;
    ensure!(!view.schedulable, "the foreign cordon was lifted");
    rig.expect_runs(&image.digest).await
}
