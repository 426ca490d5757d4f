//! The distribution's grub-mkconfig writes the node's grub.cfg. A panic in the trial falls back,
//! and a good image upgrades.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "stock-grub-mkconfig-falls-back-and-upgrades",
    core: false,
    disk: DiskKind::Bios,
    images: &["panic", "v2"],
    run: |rig| Box::pin(run(rig)),
};

/// What an administrator does to use only GRUB's own generator, for libostree and for
/// `update-grub`.
pub const TAKE_STOCK: &str = "
    mkdir -p /etc/systemd/system.conf.d
    printf '[Manager]\\nDefaultEnvironment=OSTREE_GRUB2_EXEC=/usr/sbin/grub-mkconfig\\n' >/etc/systemd/system.conf.d/stock-grub.conf
    printf 'GRUB_TIMEOUT=1\\n' >/etc/default/grub
    systemctl daemon-reexec
    grub-mkconfig -o /boot/grub/grub.cfg";

/// The number of entries with the trial's arguments. Fails if another program has written the menu.
const TRIAL_ENTRIES: &str = "grep -q 'BEGIN /etc/grub.d/15_ostree' /boot/loader/grub.cfg && { grep -c careen.trial /boot/loader/grub.cfg || :; }";

async fn run(rig: &mut Rig) -> Result<()> {
    let (bad, good) = (rig.image("panic")?, rig.image("v2")?);
    let before = rig.before().await?;
    rig.progress.step("grub-mkconfig takes the menu over");
    rig.wait_guest(TAKE_STOCK).await?;
    rig.policy("trials = 1").await?;
    rig.ask(&bad).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    ensure!(
        rig.guest.run(TRIAL_ENTRIES).await? == "1",
        "not one entry of grub-mkconfig's is the trial"
    );
    rig.expect_fallback(&before, &["NoVerdict"]).await?;
    ensure!(rig.trials() == 1, "there were {} trial boots", rig.trials());
    let before = rig.before().await?;
    rig.ask(&good).await?;
    rig.expect_upgraded(&before, &good).await?;
    ensure!(
        rig.guest.run(TRIAL_ENTRIES).await? == "0",
        "a blessed system still boots as a trial"
    );
    Ok(())
}
