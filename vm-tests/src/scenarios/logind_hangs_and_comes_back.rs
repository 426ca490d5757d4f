//! logind hangs when the agent requests the reboot. Nothing stays armed, the Node says what blocks
//! the reboot, and the upgrade continues when logind does.

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
    // systemd's watchdog may have killed it by now.
    rig.guest
        .run("systemctl kill -s CONT systemd-logind || :")
        .await?;
    rig.progress.step("logind goes on");
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}
