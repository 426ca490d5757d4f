//! A label that looks like a pause holds a request, and the Node says so. When it is removed, the
//! image is fetched. The request is withdrawn meanwhile: the fetch stops, and nothing else
//! happened.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "withdrawn-while-fetching",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    rig.repo.limit(1_000_000);
    held_by_a_label(rig, &image, &before).await?;
    rig.wait_served(3_000_000).await?;
    rig.withdraw().await?;
    rig.expect_failed(&["Withdrawn"], 2 * MINUTE).await?;
    let served = rig.repo.served();
    rig.expect_untouched(&before, &traces).await?;
    ensure!(rig.repo.served() < served + 5_000_000, "the fetch went on");
    ensure!(rig.deployments().await? == 1, "something was deployed");
    Ok(())
}

/// The pause is an annotation. A person who sets a label means the same.
async fn held_by_a_label(
    rig: &mut Rig,
    image: &rig::images::Commit,
    before: &Before,
) -> Result<()> {
    let label = |value: Option<&str>| json!({"metadata": {"labels": {names::PAUSED: value}}});
    rig.patch(label(Some("backup"))).await?;
    // From here on the label is on the Node.
    let traces = rig.traces().await?;
    let served = rig.repo.served();
    rig.ask(image).await?;
    let paused = |view: &rig::node::View| view.condition.as_deref() == Some("False Paused");
    rig.node.wait("what holds it", MINUTE, paused).await?;
    rig.wait_guest("sleep 15").await?;
    ensure!(rig.repo.served() == served, "something was fetched");
    rig.expect_untouched(before, &traces).await?;
    rig.progress.step("the label goes");
    rig.patch(label(None)).await
}
