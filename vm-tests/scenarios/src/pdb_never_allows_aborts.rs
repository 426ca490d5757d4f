//! A budget never allows an eviction. The upgrade is aborted at the deadline, the node is
//! uncordoned without a reboot, and the Node names the budget and the pod.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "pdb-never-allows-aborts",
    core: true,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    workload::allow_unavailable(&client, 0).await?;
    rig.policy("[drain]\ndeadline-seconds = 20").await?;
    let traces = rig.traces().await?;
    rig.ask(&image).await?;
    let view = rig.expect_failed(&["BudgetBlocks"], UPGRADE).await?;
    let reason = view.reason.unwrap_or_default();
    let pod = workload::pods(&client).await?.join(" ");
    ensure!(
        reason.contains(workload::BUDGET),
        "the budget is not named: {reason}"
    );
    ensure!(reason.contains(&pod), "pod {pod} is not named: {reason}");
    rig.expect_undone(&before, &traces).await
}
