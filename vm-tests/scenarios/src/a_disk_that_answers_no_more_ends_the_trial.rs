//! In the trial the disk stops answering, without an error. A process that reads from it waits
//! forever, and the hardware watchdog is patient. The deadman needs nothing from the disk and ends
//! the trial. When the disk answers again, the old system is back.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-disk-that-answers-no-more-ends-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-agent"],
    run: |rig| Box::pin(run(rig)),
};

/// The agent's health deadline in seconds. The disk hangs before it.
const DEADLINE: u32 = 180;

/// The deadman is due a minute after the deadline. The margin allows for the console's clock, which
/// differs from the deadman's.
const DEADMAN: u32 = DEADLINE + 60 - 20;

/// Longer than the deadman's time, its looks, and a reboot that a device delays.
const RESET: Duration = Duration::from_secs(15 * 60);

/// Waits until the deadman has looked once, then drops the caches, so that its next look reads the
/// disk. It also makes the hardware watchdog patient. The hung disk may block systemd too, which
/// then stops feeding the watchdog, and the watchdog would end the trial a minute later, before the
/// deadman. Which of the two ends it differs from run to run; `watchdog-ends-a-hang` tests the
/// watchdog. A running systemd cannot be told to stop using the watchdog.
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
    // The boot loader must read from the disk, so it waits.
    let ends = "] reboot: Restarting system";
    rig.wait_console(from, ends, RESET).await?;
    rig.let_disk_answer().await?;

    rig.expect_failed(&["NoVerdict"], UPGRADE).await?;
    rig.expect_one_trial()?;
    rig.expect_trial_lasted(DEADMAN)?;
    rig.expect_old_system(&before).await
}
