//! A plan says what an upgrade would change, the upgrade changes it, and `kept:` returns the node
//! to the previous system.

use upgrade::plan::Plan;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "goes-back-to-what-it-has-kept",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let first = rig.before().await?;
    let planned = plan(rig, &image.pinned()).await?;
    ensure!(planned.code.is_none(), "the plan says {planned:#?}");
    let commit = planned.commit.map(String::from);
    ensure!(
        commit.as_ref() == Some(&image.digest),
        "the plan is of {commit:?}"
    );
    let kubelet = planned.kubelet.unwrap_or_default();
    let versions = (kubelet.from.as_deref(), kubelet.to.as_deref());
    ensure!(
        versions == (Some(first.kubelet.as_str()), Some("v1.36.3")),
        "the plan has kubelets {versions:?}"
    );
    let left = rig
        .guest
        .run("ostree refs | grep -c careen/ || true")
        .await?;
    ensure!(left.trim() == "0", "the plan has left {left} refs behind");
    rig.ask(&image).await?;
    rig.expect_upgraded(&first, &image).await?;
    let planned = plan(rig, names::KEPT_IMAGE).await?;
    ensure!(planned.code.is_none(), "the plan back says {planned:#?}");
    rig.ask_raw(names::KEPT_IMAGE).await?;
    rig.wait_answer(Answer::Upgraded, UPGRADE).await?;
    rig.expect_old_system(&first).await?;
    ensure!(rig.deployments().await? == 2, "not two deployments");
    Ok(())
}

async fn plan(rig: &mut Rig, image: &str) -> Result<Plan> {
    let question = format!("{image} asked-by-the-rig");
    rig.progress.step(&format!("asking for a plan of {image}"));
    rig.annotate(&[(names::PLAN, Some(&question))]).await?;
    let read = |text: &String| serde_json::from_str::<Plan>(text).ok();
    let answer = |plan: Option<&String>| plan.and_then(read).filter(|one| one.asked == question);
    let answered = |view: &crate::node::View| answer(view.plan.as_ref()).is_some();
    let view = rig.node.wait("the plan", 10 * MINUTE, answered).await?;
    rig.annotate(&[(names::PLAN, None)]).await?;
    Ok(answer(view.plan.as_ref()).unwrap_or_default())
}
