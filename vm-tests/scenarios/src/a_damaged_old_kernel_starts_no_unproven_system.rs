//! The old kernel is damaged while an untried new system is on the disk, and the power is cut.
//! GRUB's fallback chain starts no unproven system. It retries the old one again and again, which
//! is all that it can do.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-damaged-old-kernel-starts-no-unproven-system",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// GRUB passes on the path of the kernel that it started. The script freezes the file system for a
/// moment, because GRUB does not replay the journal.
const DAMAGE: &str = "set -e; found=0; for kernel in /boot/ostree/*/vmlinuz*; do case $(cat /proc/cmdline) in *\"${kernel#/boot}\"*) : >$kernel; found=1 ;; esac; done; sync; fsfreeze --freeze /boot; fsfreeze --unfreeze /boot; [ $found = 1 ]";

/// Long enough for GRUB to go through its chain more than once. It waits about ten seconds before
/// each step.
const WATCHED: Duration = Duration::from_secs(120);

/// The first line of a kernel's log.
const KERNEL: &str = "] Command line:";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    rig.before().await?;
    let client = rig.plane.client().await?;
    // A budget that allows no eviction holds the upgrade between deployment and trial.
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    rig.guest.run(DAMAGE).await?;
    rig.cut_power()?;
    let begin = rig.console().len();
    rig.power_on().await?;
    // Nothing should happen, so there is no event to wait for.
    tokio::time::sleep(WATCHED).await;
    let console = rig.console();
    let said = console.get(begin..).unwrap_or_default();
    ensure!(
        !said.is_empty(),
        "GRUB has said nothing of what it cannot start"
    );
    ensure!(
        !said.contains(KERNEL),
        "a kernel was started that has not proved itself: {said}"
    );
    Ok(())
}
