//! The operator's own check fails, and its last line is the reason. The agent cannot restore the
//! saved state that the trial changed at first. It keeps the copy, refuses another request
//! meanwhile, and restores the state in the next boot that can.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "required-check-fails-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["check-fails", "v2"],
    run: |rig| Box::pin(run(rig)),
};

/// State of an app that an older version could not read after a newer one.
const SAVED: &str = "mkdir -p /etc/careen/snapshot.d /var/lib/rig && echo /var/lib/rig/state > /etc/careen/snapshot.d/rig && echo old > /var/lib/rig/state && sync";
/// In the trial, changes the state and makes it immutable. The test channel comes up early in a
/// boot, before /var is mounted.
const HELD: &str = "until [ -e /var/lib/rig/state ]; do sleep 0.2; done; echo new > /var/lib/rig/state && chattr +i /var/lib/rig/state && sync";
const STATE: &str = "cat /var/lib/rig/state";
/// The state that is kept for the old system.
const KEPT: &str = "ls -d /sysroot/ostree/careen/snapshot-* 2>/dev/null | wc -l";
const MEND: &str = "chattr -i /var/lib/rig/state && sync";
const REBOOT: &str = "systemctl --no-block reboot";

async fn run(rig: &mut Rig) -> Result<()> {
    let (image, other) = (rig.image("check-fails")?, rig.image("v2")?);
    rig.guest.run(SAVED).await?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    rig.guest.run(HELD).await?;
    rig.progress.step("a file cannot be put back");
    let view = rig.expect_fallback(&before, &["UserCheck"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("the rig says no"),
        "the words of the check are lost: {reason}"
    );
    expect_state(rig, "new", "1").await?;
    rig.ask(&other).await?;
    let view = rig.expect_failed(&["StateOwed"], 2 * MINUTE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("/var/lib/rig/state"),
        "what could not be put back is not named: {reason}"
    );
    expect_state(rig, "new", "1").await?;
    comes_back(rig, &before).await
}

/// Removes the obstacle and boots the node once more.
async fn comes_back(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.guest.run(MEND).await?;
    let boot = rig.boot_id().await?;
    rig.guest.run(REBOOT).await?;
    rig.wait_boot(Some(&boot)).await?;
    // Ready in this boot: its kubelet waited until the state was restored.
    rig.expect_old_system(before).await?;
    expect_state(rig, "old", "0").await
}

/// Checks the app's state and the number of copies that are kept for the old system.
async fn expect_state(rig: &mut Rig, state: &str, kept: &str) -> Result<()> {
    let found = rig.guest.run(STATE).await?;
    ensure!(
        found.trim() == state,
        "the state is {found:?}, not {state:?}"
    );
    let copies = rig.guest.run(KEPT).await?;
    ensure!(
        copies.trim() == kept,
        "{copies:?} snapshots are there, not {kept}"
    );
    Ok(())
}
