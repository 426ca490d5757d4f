//! The new kernel is damaged on /boot after the deployment. GRUB cannot start it and boots the old
//! system on its own.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-unreadable-kernel-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// GRUB passes on the path of the kernel that it started. The script freezes the file system for a
/// moment, because GRUB does not replay the journal.
const DAMAGE: &str = "set -e; found=0; for kernel in /boot/ostree/*/vmlinuz*; do case $(cat /proc/cmdline) in *\"${kernel#/boot}\"*) ;; *) : >$kernel; found=1 ;; esac; done; sync; fsfreeze --freeze /boot; fsfreeze --unfreeze /boot; [ $found = 1 ]";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy("trials = 1").await?;
    let client = rig.plane.client().await?;
    // A budget that allows no eviction holds the upgrade between deployment and trial.
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    rig.guest.run(DAMAGE).await?;
    rig.progress.step("the new kernel is empty");
    workload::allow_unavailable(&client, 1).await?;
    rig.expect_fallback(&before, &["NoVerdict"]).await?;
    ensure!(rig.trials() == 0, "GRUB started {} trials", rig.trials());
    // According to the record this trial never began, because it ended before the guard ran.
    rig.expect_nothing_owed().await
}
