//! A MachineDeployment's version changes. The real core calls our hooks, the real node reboots
//! once, and the Machine remains the same.

use super::prelude::*;
use rig::adopted::Adopted;
use rig::boots::boots;
use rig::node::NAME;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "cluster-api-upgrades-a-node",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The version of the image.
const VERSION: &str = "v1.36.3";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.progress.step("Cluster API makes a Machine of the node");
    let mut adopted = Adopted::start(&rig.plane, NAME, &before.kubelet).await?;
    adopted.catalogue(VERSION, &image.pinned()).await?;

    rig.progress.step("the MachineDeployment's version changes");
    rig.expect_a_new_answer();
    adopted.ask_for(VERSION).await?;
    let taken_up = rig.wait_phase("Accepted", 5 * MINUTE).await;
    adopted.explain(taken_up)?;
    let upgraded = rig.expect_upgraded(&before, &image).await;
    adopted.explain(upgraded)?;
    adopted.expect_updated_in_place(VERSION).await?;

    rig.expect_one_trial()?;
    let boots = boots(&rig.node.history());
    ensure!(
        boots.len() == 2,
        "not one reboot, but these boots: {boots:?}"
    );
    let client = rig.plane.client().await?;
    workload::wait_until_running(&client, 3 * MINUTE).await
}
