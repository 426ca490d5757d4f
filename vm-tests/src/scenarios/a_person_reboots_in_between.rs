//! Somebody reboots the node during the fetch, and again in its trial. Each time the old system
//! comes up, and the upgrade continues to its end.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-person-reboots-in-between",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Reboots past our inhibitor, as a person in a hurry does.
const REBOOT: &str = "systemctl --no-block --ignore-inhibitors reboot";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.repo.limit(1_000_000);
    rig.ask(&image).await?;
    // Much less than the node lacks in total.
    rig.wait_served(3_000_000).await?;
    rig.guest.run(REBOOT).await?;
    rig.progress.step("a person reboots while it fetches");
    rig.repo.limit(0);
    let second = rig.wait_boot(Some(&before.boot)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    rig.wait_armed().await?;
    let trial = rig.wait_boot(Some(&second)).await?;
    rig.guest.run(REBOOT).await?;
    rig.progress.step("a person reboots in the trial");
    rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "the trial was not judged, and yet it stayed"
    );
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(
        view.status.is_some_and(|status| status.tries == 2),
        "the trial that was rebooted away was not counted"
    );
    Ok(())
}
