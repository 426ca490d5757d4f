//! Somebody reboots the node when the bad system was judged, and again when the old one is about to give the node back: the old system boots
//! both times and serves, and the Node says what was wrong with the new one.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-person-reboots-on-the-way-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

/// The trial, and one for each that a person asked for.
const BOOTS: usize = 3;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 60").await?;
    rig.hold_post_hook().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    // It would reboot at once.
    rig.hang_logind().await?;
    rig.reboot_by_hand("\"name\": \"Reverting\"", "Reverting")
        .await?;
    old_system_boots(rig, &before).await?;

    rig.reboot_by_hand("\"do\": \"PostHooks\"", "Reverting")
        .await?;
    old_system_boots(rig, &before).await?;
    rig.let_post_hook_go().await?;

    rig.expect_failed(&["Unhealthy"], UPGRADE).await?;
    rig.expect_old_system(&before).await?;
    rig.expect_one_trial()?;
    ensure!(rig.boots() == BOOTS, "there were {} boots", rig.boots());
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}

async fn old_system_boots(rig: &mut Rig, before: &Before) -> Result<()> {
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    Ok(())
}
