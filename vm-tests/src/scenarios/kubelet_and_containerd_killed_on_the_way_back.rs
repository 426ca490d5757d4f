//! The kubelet, containerd and both at once are killed after the verdict on the bad system. They
//! are killed again in the old one, before the node becomes schedulable and while the new system is
//! removed. The old system serves, and the Node says what was wrong with the new one.

use super::prelude::*;
use crate::rig::{EACH_AND_BOTH, In, LOGIND_GOES_ON, LOGIND_HANGS};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kubelet-and-containerd-killed-on-the-way-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The verdict comes when the check allows it. The deadman is due a minute after the deadline, long
/// after the kills. The hook waits until both programs have come back twice.
const POLICY: &str = "[health]\ndeadline-seconds = 1800\ncheck-seconds = 900\ncheck-tries = 1\n[hooks]\nseconds = 600";
/// The operator's own check, because the image itself is good.
const CHECK: &str = r"mkdir -p /etc/careen/required.d && printf '#!/bin/sh\nuntil [ -e /run/careen-rig/judge ]; do sleep 0.5; done\necho the rig says no\nexit 1\n' >/etc/careen/required.d/50-rig && chmod 755 /etc/careen/required.d/50-rig";
const JUDGE: &str = "mkdir -p /run/careen-rig && touch /run/careen-rig/judge";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy(POLICY).await?;
    rig.guest.run(CHECK).await?;
    rig.hold_post_hook().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    let trial = rig.wait_boot(Some(&before.boot)).await?;
    // Without this logind would reboot at once.
    rig.hang_logind().await?;
    rig.guest.run(JUDGE).await?;
    let judged = on_the_way_back("\"name\": \"Reverting\"");
    rig.kill_in(judged, EACH_AND_BOTH, "true").await?;
    rig.guest.run(LOGIND_GOES_ON).await?;

    rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    // The step after the hook, which removes the new system, waits for logind's lock.
    let hook = on_the_way_back("\"do\": \"PostHooks\"");
    rig.kill_in(hook, EACH_AND_BOTH, LOGIND_HANGS).await?;
    rig.let_post_hook_go().await?;
    let undo = on_the_way_back("\"do\": \"Undo\"");
    rig.kill_in(undo, EACH_AND_BOTH, LOGIND_GOES_ON).await?;

    rig.expect_failed(&["UserCheck"], UPGRADE).await?;
    rig.expect_old_system(&before).await?;
    rig.expect_one_trial()?;
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}

const fn on_the_way_back(says: &str) -> In<'_> {
    In {
        says,
        phase: "Reverting",
    }
}
