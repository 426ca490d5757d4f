//! Somebody reboots the node when it is drained, armed, proven and blessed, each behind the other: what runs then is the old system or the one
//! that was meant, and the upgrade ends well, with as many boots as there were reasons for.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-person-reboots-around-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// One for each that a person asked for, and the second trial.
const BOOTS: usize = 5;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.hold_post_hook().await?;
    let client = rig.plane.client().await?;
    // A budget that does not allow holds the drain until logind hangs, for whose lock the steps behind it wait.
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    rig.hang_logind().await?;
    workload::allow_unavailable(&client, 1).await?;
    rig.reboot_by_hand("\"name\": \"Drained\"", "Drained")
        .await?;
    runs(rig, &before.commit, "drained").await?;

    rig.hang_logind().await?;
    // The agent writes this down when the one-shot is flushed to the disk.
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
