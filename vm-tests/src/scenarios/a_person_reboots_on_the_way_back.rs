//! Somebody reboots the node after the verdict on the bad system, and again just before the old
//! system makes the node schedulable. The old system boots both times and serves, and the Node says
//! what was wrong with the new one.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-person-reboots-on-the-way-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

/// In the trial logind hangs as soon as it is up, so that the agent's own reboot does not happen.
/// On a slow machine the agent's verdict may come before a test could stop it. /etc goes along with
/// the new system. (systemd would kill a logind that is silent for minutes.)
const LOGIND_HANGS: &str = r#"dir=/etc/systemd/system/systemd-logind.service.d && mkdir -p $dir &&
  printf '[Service]\nWatchdogSec=0\nExecStartPost=/bin/sh -c "grep -q careen.trial=1 /proc/cmdline && kill -STOP $MAINPID || :"\n' >$dir/rig.conf"#;

/// The trial, and one for each reboot by the person.
const BOOTS: usize = 3;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 60").await?;
    rig.hold_post_hook().await?;
    rig.guest.run(LOGIND_HANGS).await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
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
