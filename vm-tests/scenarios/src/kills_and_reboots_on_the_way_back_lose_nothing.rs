//! The kubelet, containerd and both at once are killed after the verdict on the bad system, and
//! somebody reboots the node. Both happen again in the old system before the node becomes
//! schedulable, and the kills once more while the new system is removed. The old system boots both
//! times and serves, and the Node says what was wrong with the new one.

use super::prelude::*;
use rig::{After, EACH_AND_BOTH, In, LOGIND_GOES_ON};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kills-and-reboots-on-the-way-back-lose-nothing",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later"],
    run: |rig| Box::pin(run(rig)),
};

/// The verdict comes when the check allows it. The deadman is due a minute after the deadline, long
/// after the kills. The hook waits until both programs have come back twice.
const POLICY: &str = "[health]\ndeadline-seconds = 1800\ncheck-seconds = 900\ncheck-tries = 1\n[hooks]\nseconds = 600";
/// The operator's own check, because the image itself is good. It passes on the old system, which
/// rehearses it.
const CHECK: &str = r"mkdir -p /etc/careen/required.d && printf '#!/bin/sh\ngrep -qw careen.trial=1 /proc/cmdline || exit 0\nuntil [ -e /run/careen-rig/judge ]; do sleep 0.5; done\necho the rig says no\nexit 1\n' >/etc/careen/required.d/50-rig && chmod 755 /etc/careen/required.d/50-rig";
const JUDGE: &str = "mkdir -p /run/careen-rig && touch /run/careen-rig/judge";

/// The trial, and one for each reboot by the person.
const BOOTS: usize = 3;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v1-later")?;
    let before = rig.before().await?;
    rig.policy(POLICY).await?;
    rig.guest.run(CHECK).await?;
    rig.hold_post_hook().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    // Without this logind would reboot at once.
    rig.hang_logind().await?;
    rig.guest.run(JUDGE).await?;
    killed_and_rebooted(rig, "\"name\": \"Reverting\"", &before).await?;
    killed_and_rebooted(rig, "\"do\": \"PostHooks\"", &before).await?;
    // The step after the hook, which removes the new system, waits for logind's lock.
    rig.hang_logind().await?;
    rig.let_post_hook_go().await?;
    killed(rig, "\"do\": \"Undo\"", LOGIND_GOES_ON).await?;
    rig.expect_failed(&["UserCheck"], UPGRADE).await?;
    rig.expect_old_system(&before).await?;
    rig.expect_one_trial()?;
    ensure!(rig.boots() == BOOTS, "there were {} boots", rig.boots());
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}

async fn killed_and_rebooted(rig: &mut Rig, says: &str, before: &Before) -> Result<()> {
    killed(rig, says, "true").await?;
    rig.reboot_by_hand(says, "Reverting").await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    Ok(())
}

async fn killed(rig: &mut Rig, says: &str, then: &str) -> Result<()> {
    let phase = "Reverting";
    let step = In { says, phase };
    rig.kill_in(step, EACH_AND_BOTH, then, After::AgentGoesOn)
        .await
}
