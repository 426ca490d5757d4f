//! The old kernel is damaged while a new system lies beside it untried, and the power goes: GRUB's fallback chain starts no system that has not
//! proved itself. It tries again and again, which is all that there is to do.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-damaged-old-kernel-starts-no-unproven-system",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// GRUB passes the path of the kernel that it has started. It replays no journal, so the file system is frozen for a moment.
const DAMAGE: &str = "set -e; found=0; for kernel in /boot/ostree/*/vmlinuz*; do case $(cat /proc/cmdline) in *\"${kernel#/boot}\"*) : >$kernel; found=1 ;; esac; done; sync; fsfreeze --freeze /boot; fsfreeze --unfreeze /boot; [ $found = 1 ]";

/// Long enough for GRUB to have gone through its chain more than once: it waits some ten seconds before each step of it.
const WATCHED: Duration = Duration::from_secs(120);

/// With this line a kernel begins to speak.
const KERNEL: &str = "] Command line:";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    rig.before().await?;
    let client = rig.plane.client().await?;
    // A budget that does not allow holds the upgrade between deployment and trial.
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    rig.guest.run(DAMAGE).await?;
    rig.cut_power()?;
    let begin = rig.console().len();
    rig.power_on().await?;
    // Nothing that could be waited for is to happen.
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
