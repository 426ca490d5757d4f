//! Another program holds an inhibitor. The Node names it, and nothing stays armed meanwhile. When
//! the program releases it, the upgrade continues with a full reboot, although a soft reboot is
//! prepared.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "inhibitor-held-up-then-a-full-reboot",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// With this, `systemctl reboot` would become a soft reboot: no kernel, no GRUB, no guard
/// (systemd-soft-reboot.service(8)).
const PREPARE_A_SOFT_REBOOT: &str = "mkdir -p /run/nextroot && mount --bind / /run/nextroot";

const HOLD: &str = "systemd-run --quiet --unit=updater systemd-inhibit --what=shutdown --mode=block --who=updater --why=updating sleep infinity";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.guest.run(PREPARE_A_SOFT_REBOOT).await?;
    rig.guest.run(HOLD).await?;
    rig.ask(&image).await?;
    let held_up = |view: &crate::node::View| {
        let status = view.status.as_ref();
        let code = status.and_then(|status| status.code.as_deref());
        code == Some("RebootRefused")
    };
    let view = rig
        .node
        .wait("the refused reboot on the Node", UPGRADE, held_up)
        .await?;
    let reason = view.status.and_then(|status| status.reason);
    ensure!(
        reason.as_ref().is_some_and(|text| text.contains("updater")),
        "nobody is named: {reason:?}"
    );
    // The one-shot is armed only during each try. Between tries any reboot boots the old system.
    rig.wait_guest("while grep -qa '^next_entry=.' /boot/grub/grubenv; do sleep 0.2; done")
        .await?;
    rig.guest.run("systemctl stop updater").await?;
    rig.progress.step("the updater has let go");
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    ensure!(
        rig.guest
            .run("cat /proc/cmdline")
            .await?
            .contains("careen.trial=1"),
        "it did not come through GRUB"
    );
    Ok(())
}
