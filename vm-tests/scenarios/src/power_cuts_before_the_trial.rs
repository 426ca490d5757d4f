//! The power is cut four times on the way to the trial, and the disk loses what it had not flushed.
//! The cuts are in the fetch, after the verification, in the deployment, and after the drain. Each
//! time the node continues on its own, and the upgrade succeeds.

use super::prelude::*;
use rig::fate::Fate;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cuts-before-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Waits for the middle of the deployment.
const DEPLOYS: &str =
    "until pgrep -f 'careen-deploy deploy' >/dev/null; do sleep 0.1; done; sleep 2";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    // The cuts must not lose what the rig itself has written.
    rig.guest.run("sync").await?;
    rig.repo.limit(1_000_000);
    rig.ask(&image).await?;
    // Much less than the node lacks in total.
    rig.wait_served(3_000_000).await?;
    rig.lose_power_for_a_moment(Fate::Lost).await?;
    rig.repo.limit(0);
    old_system_boots(rig, &before).await?;

    rig.wait_record_in_any_boot("\"name\": \"Verified\"")
        .await?;
    rig.lose_power_for_a_moment(Fate::Torn).await?;
    old_system_boots(rig, &before).await?;

    rig.wait_guest(DEPLOYS).await?;
    rig.lose_power_for_a_moment(Fate::Torn).await?;
    old_system_boots(rig, &before).await?;

    // The arming follows immediately, so the record shows either phase, and either system may boot.
    rig.wait_record_in_any_boot("\"name\": \"(Drained|Armed)\"")
        .await?;
    rig.lose_power_for_a_moment(Fate::Lost).await?;
    rig.wait_boot(None).await?;

    rig.expect_upgraded(&before, &image).await?;
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}

async fn old_system_boots(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    Ok(())
}
