//! /boot is an automount that is unmounted after two seconds without use. The upgrade still
//! succeeds.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "boot-is-an-automount",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const AUTOMOUNT: &str = "sed -i 's#^LABEL=boot /boot ext4 defaults#&,x-systemd.automount,x-systemd.idle-timeout=2#' /etc/fstab && grep -q x-systemd.automount /etc/fstab && sync && systemctl --no-block reboot";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let joined = rig.before().await?;
    rig.guest.run(AUTOMOUNT).await?;
    let boot = rig.wait_boot(Some(&joined.boot)).await?;
    let there = |view: &crate::node::View| view.ready && view.boot == boot;
    rig.node
        .wait("the node is Ready again", 5 * MINUTE, there)
        .await?;
    rig.wait_guest("until findmnt --noheadings --types autofs /boot >/dev/null; do sleep 1; done")
        .await?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}
