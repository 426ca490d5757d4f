//! The request is withdrawn during the drain. The node is uncordoned and the deployment is undone,
//! without a reboot.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "withdrawn-while-draining",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    workload::allow_unavailable(&client, 0).await?;
    let traces = rig.traces().await?;
    rig.ask(&image).await?;
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    rig.withdraw().await?;
    rig.expect_failed(&["Withdrawn"], 2 * MINUTE).await?;
    rig.expect_undone(&before, &traces).await?;
    ensure!(
        rig.deployments().await? == 1,
        "the deployment is still there"
    );
    Ok(())
}
