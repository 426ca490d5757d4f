//! A node meets three obstacles on the way to its trial. The agent arms nothing that it cannot
//! record, the Node says why it waits, and the upgrade continues when the obstacle is gone:
//! - The disk turns read-only in the middle of the fetch, as ext4 does after an error. A power cycle
//!   ends that.
//! - /var, which also holds the record, fills up after the drain and before the arming.
//! - logind hangs when the agent requests the reboot. Nothing stays armed meanwhile.

use super::prelude::*;
use rig::node::View;
use rig::{LOGIND_GOES_ON, LOGIND_HANGS};

use upgrade::Reason;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "what-a-node-waits-for-is-told-and-the-upgrade-goes-on",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The kernel's own emergency remount. It remounts every file system, even one with files open for
/// writing (Documentation/admin-guide/sysrq.rst).
const READ_ONLY: &str =
    "sync; echo u > /proc/sysrq-trigger; while touch /var/probe 2>/dev/null; do sleep 0.1; done";

/// The step after the drain waits for logind's lock. The script stops the agent in it while the
/// disk is filled. It also stops the kubelet, which would remove images to make room.
const STAND_STILL: &str = "until grep -qsF '\"do\": \"Snapshot\"' /sysroot/ostree/careen/record.?; do sleep 0.05; done; systemctl kill --signal=STOP --kill-whom=main careen-agent kubelet";
const AGENT_GOES_ON: &str = "systemctl kill --signal=CONT --kill-whom=main careen-agent";

/// Fills the disk to the last block, including root's reserve, and keeps it full: files that are
/// removed meanwhile free some space.
const FILL: &str = "systemd-run --quiet --unit=full sh -c 'n=0; while :; do for size in 1G 64M 1M 4K; do if fallocate -l $size /var/full.$n 2>/dev/null; then n=$((n + 1)); continue 2; fi; done; touch /run/full; sleep 0.05; done'; until [ -e /run/full ]; do sleep 0.1; done";
const GIVE_BACK: &str = "systemctl stop full; rm -f /var/full.*; sync; systemctl kill --signal=CONT --kill-whom=main kubelet";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    workload::allow_unavailable(&client, 0).await?;
    rig.repo.limit(1_000_000);
    rig.ask(&image).await?;
    read_only_in_the_fetch(rig).await?;
    let before = Before {
        boot: rig.wait_boot(None).await?,
        ..before
    };
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    // Without a healthy pod no budget allows an eviction.
    workload::wait_until_running(&client, UPGRADE).await?;
    rig.guest.run(LOGIND_HANGS).await?;
    workload::allow_unavailable(&client, 1).await?;
    full_before_the_arming(rig, &before).await?;
    logind_hangs_at_the_reboot(rig).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}

async fn read_only_in_the_fetch(rig: &mut Rig) -> Result<()> {
    rig.wait_served(3_000_000).await?;
    rig.wait_guest(READ_ONLY).await?;
    rig.progress.step("the disk is read-only");
    expect_unwritten(rig).await?;
    rig.cut_power()?;
    rig.repo.limit(0);
    rig.power_on().await
}

async fn full_before_the_arming(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.wait_guest(STAND_STILL).await?;
    rig.wait_guest(FILL).await?;
    rig.progress.step("the disk is full");
    rig.guest
        .run(&format!("{AGENT_GOES_ON}; {LOGIND_GOES_ON}"))
        .await?;
    expect_unwritten(rig).await?;
    // As long as two more tries take.
    rig.wait_guest("sleep 25").await?;
    rig.expect_disarmed().await?;
    ensure!(
        rig.boot_id().await? == before.boot,
        "the node rebooted with a step unrecorded"
    );
    expect_unwritten(rig).await
}

/// Checks that the Node says that the agent could not write a record, and that this ended nothing.
async fn expect_unwritten(rig: &mut Rig) -> Result<()> {
    let unwritten = Reason::RecordUnwritten {
        detail: String::new(),
    };
    let view = told(rig, &unwritten.code()).await?;
    ensure!(
        view.answer.as_deref() == Some(Answer::InProgress.as_str()),
        "what cannot be recorded ended the upgrade: {view:#?}"
    );
    Ok(())
}

/// There is room again, and what comes next is the reboot.
async fn logind_hangs_at_the_reboot(rig: &mut Rig) -> Result<()> {
    rig.hang_logind().await?;
    rig.wait_guest(GIVE_BACK).await?;
    rig.progress.step("there is room");
    told(rig, "RebootRefused").await?;
    rig.wait_guest("while grep -qa '^next_entry=.' /boot/grub/grubenv; do sleep 0.2; done")
        .await?;
    rig.guest.run(LOGIND_GOES_ON).await?;
    rig.progress.step("logind goes on");
    Ok(())
}

/// Waits until the Node gives this reason.
async fn told(rig: &mut Rig, code: &str) -> Result<View> {
    let says_so = |view: &View| {
        let status = view.status.as_ref();
        status.and_then(|status| status.code.as_deref()) == Some(code)
    };
    let what = format!("the Node to say {code}");
    rig.node.wait(&what, UPGRADE, says_so).await
}
