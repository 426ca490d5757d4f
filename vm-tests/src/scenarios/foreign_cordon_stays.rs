//! Somebody cordoned the node earlier, and its workload tolerates every taint, so that evicted pods
//! come back at once. The upgrade succeeds and does not remove a cordon that is not its own.

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
    let client = rig.plane.client().await?;
    workload::tolerate_everything(&client).await?;
    workload::wait_until_running(&client, MINUTE).await?;
    rig.policy("[drain]\ndeadline-seconds = 60").await?;
    rig.patch(json!({"spec": {"unschedulable": true}})).await?;
    rig.ask(&image).await?;
    let view = rig.wait_answer(Answer::Upgraded, UPGRADE).await?;
    ensure!(!view.schedulable, "the foreign cordon was lifted");
    rig.expect_runs(&image.digest).await
}
