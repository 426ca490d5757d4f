//! The clock jumps to 2040 during the drain, and back. No deadline expires because of it. Then
//! another program holds an inhibitor. The Node names it, and nothing stays armed meanwhile. When
//! the program releases it, the upgrade continues with a full reboot, although a soft reboot is
//! prepared.

use super::prelude::*;
use rig::node::View;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "clock-jumps-and-an-inhibitor-only-delay-the-reboot",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later"],
    run: |rig| Box::pin(run(rig)),
};

/// Years ahead no certificate of the cluster is valid, so the node sees its API server as away.
const JUMP: &str = "date +%s >/run/now; date -s 2040-01-01 >/dev/null";
/// Sets the clock back, to a minute after the jump.
const BACK: &str = "date -s @$(($(cat /run/now) + 60)) >/dev/null";

/// With this, `systemctl reboot` would become a soft reboot: no kernel, no GRUB, no guard
/// (systemd-soft-reboot.service(8)).
const PREPARE_A_SOFT_REBOOT: &str = "mkdir -p /run/nextroot && mount --bind / /run/nextroot";

const HOLD: &str = "systemd-run --quiet --unit=updater systemd-inhibit --what=shutdown --mode=block --who=updater --why=updating sleep infinity";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v1-later")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    workload::allow_unavailable(&client, 0).await?;
    rig.guest.run(PREPARE_A_SOFT_REBOOT).await?;
    rig.guest.run(HOLD).await?;
    rig.ask(&image).await?;
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    clock_jumps(rig).await?;
    workload::allow_unavailable(&client, 1).await?;
    inhibitor_delays(rig).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    let arguments = rig.guest.run("cat /proc/cmdline").await?;
    ensure!(
        arguments.contains(names::TRIAL_ARGUMENT),
        "it did not come through GRUB: {arguments}"
    );
    Ok(())
}

async fn clock_jumps(rig: &mut Rig) -> Result<()> {
    rig.guest.run(JUMP).await?;
    rig.progress.step("it is 2040 on the node");
    // Longer than the agent takes to look again, much shorter than the drain's deadline.
    rig.wait_guest("sleep 45").await?;
    rig.guest.run(BACK).await?;
    rig.progress.step("it is now again");
    let view = rig.node.now();
    ensure!(
        view.answer.as_deref() == Some(Answer::InProgress.as_str()) && !view.schedulable,
        "the jump ended the drain: {view:#?}"
    );
    Ok(())
}

async fn inhibitor_delays(rig: &mut Rig) -> Result<()> {
    let refused = |view: &View| {
        let status = view.status.as_ref();
        status.and_then(|status| status.code.as_deref()) == Some("RebootRefused")
    };
    let what = "the refused reboot on the Node";
    let view = rig.node.wait(what, UPGRADE, refused).await?;
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
    Ok(())
}
