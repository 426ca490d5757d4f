//! logind hangs when the reboot is asked for: nothing stays armed, the Node says what is in the way, and the upgrade goes on when logind does.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "logind-hangs-and-comes-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    rig.guest
        .run("systemctl kill -s STOP systemd-logind")
        .await?;
    rig.progress.step("logind hangs");
    let refused = |view: &crate::node::View| {
        let status = view.status.as_ref();
        status.and_then(|status| status.code.as_deref()) == Some("RebootRefused")
    };
    rig.node
        .wait(
            "the reboot that does not come, on the Node",
            UPGRADE,
            refused,
        )
        .await?;
    rig.wait_guest("while grep -qa '^next_entry=.' /boot/grub/grubenv; do sleep 0.2; done")
        .await?;
    // A watchdog of systemd's may have ended it by now.
    rig.guest
        .run("systemctl kill -s CONT systemd-logind || :")
        .await?;
    rig.progress.step("logind goes on");
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}
