//! The power goes four times on the way to the trial, and with it what the disk had not flushed: in the fetch, behind the verification,
//! in the deployment, behind the drain. Each time the node goes on by itself, and the upgrade ends well.

use super::prelude::*;
use crate::soak::cut::Fate;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cuts-before-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// In the middle of it.
const DEPLOYS: &str =
    "until pgrep -f 'careen-deploy deploy' >/dev/null; do sleep 0.1; done; sleep 2";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    // What the rig itself has written is none of what is cut.
    rig.guest.run("sync").await?;
    rig.repo.limit(1_000_000);
    rig.ask(&image).await?;
    // Far from all that the node lacks.
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

    // The arming comes right behind it: the one or the other is seen, and either system may boot.
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
