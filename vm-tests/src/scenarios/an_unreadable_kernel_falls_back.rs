//! The new kernel is damaged on /boot once it lies there: GRUB cannot start it and boots the old system by itself.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-unreadable-kernel-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// GRUB passes the path of the kernel that it has started. It replays no journal, so the file system is frozen for a moment.
const DAMAGE: &str = "set -e; found=0; for kernel in /boot/ostree/*/vmlinuz*; do case $(cat /proc/cmdline) in *\"${kernel#/boot}\"*) ;; *) : >$kernel; found=1 ;; esac; done; sync; fsfreeze --freeze /boot; fsfreeze --unfreeze /boot; [ $found = 1 ]";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy("trials = 1").await?;
    let client = rig.plane.client().await?;
    // A budget that does not allow holds the upgrade between deployment and trial.
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    rig.guest.run(DAMAGE).await?;
    rig.progress.step("the new kernel is empty");
    workload::allow_unavailable(&client, 1).await?;
    rig.expect_fallback(&before, &["NoVerdict"]).await?;
    ensure!(rig.trials() == 0, "GRUB started {} trials", rig.trials());
    // By its record this trial has never begun: it died before the guard.
    rig.expect_nothing_owed().await
}
