//! The node's boot entries carry the trial's arguments. Somebody makes the system on trial the
//! default and reboots. By its arguments each boot of that system is a trial, and no reboot would
//! lead to another system. The guard lets it pass, and the old system comes back.

use super::prelude::*;
use super::stock_grub_mkconfig_falls_back_and_upgrades::TAKE_STOCK;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-moved-default-on-stock-grub-does-not-loop",
    core: false,
    disk: DiskKind::Bios,
    images: &["check-fails"],
    run: |rig| Box::pin(run(rig)),
};

/// The check is retried until grub-mkconfig has written its menu; only then does it count as
/// failed.
const POLICY: &str = "trials = 1\n[health]\ncheck-tries = 20";

/// The policy of the boot after that. A check that has failed counts at once.
const JUDGE: &str = "trials = 1\n[health]\ncheck-tries = 1";
/// The trial is the second entry.
const SET_DEFAULT: &str = "until mountpoint -q /boot; do sleep 0.2; done; \
    OSTREE_GRUB2_EXEC=/usr/sbin/grub-mkconfig ostree admin set-default 1";

/// The boots after the first: on trial, as the default, and back.
const BOOTS: usize = 3;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("check-fails")?;
    rig.progress.step("grub-mkconfig takes the menu over");
    rig.wait_guest(TAKE_STOCK).await?;
    rig.policy(POLICY).await?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    rig.wait_guest(SET_DEFAULT).await?;
    let default = rig.default_commit().await?;
    ensure!(default == image.digest, "the default is {default}");
    rig.progress
        .step("somebody has made the system on trial the default");
    rig.reboot_by_hand("\"default_moved\": true", "Trial")
        .await?;
    // Wait for /boot, because a boot begins with a /etc that nobody can write.
    rig.booted().await?;
    rig.policy(JUDGE).await?;
    rig.expect_fallback(&before, &["UnguardedBoot", "UserCheck"])
        .await?;
    let default = rig.default_commit().await?;
    ensure!(default == before.commit, "the default is {default}");
    ensure!(rig.boots() <= BOOTS, "there were {} boots", rig.boots());
    Ok(())
}
