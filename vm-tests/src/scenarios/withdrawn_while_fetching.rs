//! The request is taken back while the image is being fetched: the fetch stops, nothing else happened.

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
    rig.ask(&image).await?;
    rig.wait_served(3_000_000).await?;
    rig.withdraw().await?;
    rig.expect_failed(&["Withdrawn"], 2 * MINUTE).await?;
    let served = rig.repo.served();
    rig.expect_untouched(&before, &traces).await?;
    ensure!(rig.repo.served() < served + 5_000_000, "the fetch went on");
    ensure!(rig.deployments().await? == 1, "something was deployed");
    Ok(())
}
