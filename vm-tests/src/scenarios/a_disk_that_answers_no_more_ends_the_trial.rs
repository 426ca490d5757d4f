//! In the trial the disk answers no more, and nothing says that it fails: whoever asks it waits for ever, and the machine's watchdog has
//! patience. The deadman, who asks nothing of the disk, ends the trial all the same, and when the disk answers again the old system is back.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-disk-that-answers-no-more-ends-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-agent"],
    run: |rig| Box::pin(run(rig)),
};

/// Seconds that an agent would have for its verdict: the disk hangs before that.
const DEADLINE: u32 = 240;

/// The deadman is due a minute later. Less than that, because the console's time is another clock than the deadman's.
const DEADMAN: u32 = DEADLINE + 60 - 20;

/// Longer than the deadman has, its looks, and what a reboot may take that a device holds up.
const RESET: Duration = Duration::from_secs(15 * 60);

/// The deadman has looked once, and what was read is no longer in memory: its next look asks the disk. The machine's watchdog is made patient:
/// the disk may hold systemd as well, which then feeds it no more, and it would end the trial a minute later, before the deadman (which of the
/// two it is differs from run to run; `watchdog-ends-a-hang` is about the other). That systemd feeds none cannot be said to it while it runs.
const READY: &str = "until systemctl --quiet is-active careen-deadman.service && systemctl --quiet is-active dbus.service; do sleep 0.2; done; \
    set -e; sleep 5; \
    busctl set-property org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager RuntimeWatchdogUSec t 1800000000; \
    echo \"the watchdog waits for $(cat /sys/class/watchdog/watchdog0/timeout) s\"; grep --quiet 1800 /sys/class/watchdog/watchdog0/timeout; \
    sync; echo 3 >/proc/sys/vm/drop_caches";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-agent")?;
    let before = rig.before().await?;
    rig.policy(&format!(
        "trials = 1\n[health]\ndeadline-seconds = {DEADLINE}"
    ))
    .await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    rig.wait_guest(READY).await?;
    let from = rig.console().len();
    rig.hang_disk().await?;
    // The loader has to read, and waits.
    let ends = "] reboot: Restarting system";
    rig.wait_console(from, ends, RESET).await?;
    rig.let_disk_answer().await?;

    rig.expect_failed(&["NoVerdict"], UPGRADE).await?;
    rig.expect_one_trial()?;
    rig.expect_trial_lasted(DEADMAN)?;
    rig.expect_old_system(&before).await
}
