//! The catalogue names a bad image. The node comes back, the Machine says why, and nothing is
//! deleted. Another image in the catalogue heals it.

use super::prelude::*;
use rig::adopted::Adopted;
use rig::boots::boots;
use rig::images::Commit;
use rig::node::NAME;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "cluster-api-holds-at-a-bad-image-and-heals",
    core: false,
    disk: DiskKind::Bios,
    images: &["kubelet-crash", "v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The version of both images.
const VERSION: &str = "v1.36.3";

async fn run(rig: &mut Rig) -> Result<()> {
    let (bad, good) = (rig.image("kubelet-crash")?, rig.image("v2")?);
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 120").await?;
    rig.progress.step("Cluster API makes a Machine of the node");
    let mut adopted = Adopted::start(&rig.plane, NAME, &before.kubelet).await?;
    holds(rig, &mut adopted, &before, &bad).await?;
    heals(rig, &mut adopted, &good).await?;
    let boots = boots(&rig.node.history());
    ensure!(
        boots.len() == 3,
        "not before, back and new, but these boots: {boots:?}"
    );
    Ok(())
}

/// Changes the version while its image is bad.
async fn holds(rig: &mut Rig, adopted: &mut Adopted, before: &Before, bad: &Commit) -> Result<()> {
    adopted.catalogue(VERSION, &bad.pinned()).await?;
    rig.progress.step("the MachineDeployment's version changes");
    rig.expect_a_new_answer();
    adopted.ask_for(VERSION).await?;
    let taken_up = rig.wait_phase("Accepted", 5 * MINUTE).await;
    adopted.explain(taken_up)?;
    let back = rig.expect_fallback(before, &["Unhealthy"]).await;
    let reason = adopted.explain(back)?.reason.unwrap_or_default();
    adopted.expect_held(&reason).await?;
    rig.expect_one_trial()?;
    rig.expect_old_system(before).await
}

/// Changes only the image in the catalogue.
async fn heals(rig: &mut Rig, adopted: &mut Adopted, good: &Commit) -> Result<()> {
    let held = rig.before().await?;
    // The short deadline was only for the bad image.
    rig.policy("").await?;
    rig.progress.step("the catalogue names another image");
    rig.expect_a_new_answer();
    adopted.catalogue(VERSION, &good.pinned()).await?;
    let upgraded = rig.expect_upgraded(&held, good).await;
    adopted.explain(upgraded)?;
    adopted.expect_updated_in_place(VERSION).await?;
    ensure!(rig.trials() == 2, "{} trial boots, not two", rig.trials());
    Ok(())
}
