//! Somebody reboots the node in the fetch, and when it is drained, armed, proven and blessed, one
//! after the other. Each time the old system or the intended one runs. The upgrade succeeds, with
//! no more boots than there were reasons.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-person-reboots-at-every-step",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// One for each reboot by the person, and the second trial.
const BOOTS: usize = 6;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.hold_post_hook().await?;
    let client = rig.plane.client().await?;
    // A budget that allows no eviction holds the drain until logind hangs. The steps after the
    // drain wait for logind's lock.
    workload::allow_unavailable(&client, 0).await?;
    rig.repo.limit(1_000_000);
    rig.ask(&image).await?;
    // Much less than the node lacks in total.
    rig.wait_served(3_000_000).await?;
    rig.reboot_by_hand("\"name\": \"Accepted\"", "Accepted")
        .await?;
    rig.repo.limit(0);
    runs(rig, &before.commit, "fetching").await?;

    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    // Without a healthy pod no budget allows an eviction.
    workload::wait_until_running(&client, UPGRADE).await?;
    rig.hang_logind().await?;
    workload::allow_unavailable(&client, 1).await?;
    rig.reboot_by_hand("\"name\": \"Drained\"", "Drained")
        .await?;
    runs(rig, &before.commit, "drained").await?;

    rig.hang_logind().await?;
    // The agent records this after it has flushed the one-shot to the disk.
    rig.reboot_by_hand("\"do\": \"Reboot\"", "Armed").await?;
    runs(rig, &image.digest, "armed").await?;

    rig.hang_logind().await?;
    let old = rig
        .reboot_by_hand("\"name\": \"Healthy\"", "Healthy")
        .await?;
    runs(rig, &before.commit, "proven and not yet blessed").await?;

    rig.wait_boot(Some(&old)).await?;
    rig.reboot_by_hand("\"name\": \"Blessed\"", "Blessed")
        .await?;
    runs(rig, &image.digest, "blessed").await?;
    rig.let_post_hook_go().await?;

    let view = rig.expect_upgraded(&before, &image).await?;
    let tries = view.status.map_or(0, |status| status.tries);
    ensure!(tries == 2, "{tries} trials were counted, not two");
    ensure!(rig.trials() == 2, "{} trials were booted", rig.trials());
    ensure!(rig.boots() == BOOTS, "there were {} boots", rig.boots());
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}

async fn runs(rig: &mut Rig, commit: &str, when: &str) -> Result<()> {
    let booted = rig.booted().await?;
    ensure!(
        booted == commit,
        "rebooted when it was {when}, the node runs {booted}, not {commit}"
    );
    Ok(())
}
