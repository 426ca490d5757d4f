//! /var, which also holds the record, fills up after the drain and before the arming. The agent
//! arms nothing that it cannot record. The node stays up and says why it waits, and the upgrade
//! continues when there is room.

use super::prelude::*;
use crate::node::View;
use crate::rig::{LOGIND_GOES_ON, LOGIND_HANGS};
use upgrade::Reason;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-full-disk-holds-the-upgrade-until-there-is-room",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

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
    rig.ask(&image).await?;
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    rig.guest.run(LOGIND_HANGS).await?;
    workload::allow_unavailable(&client, 1).await?;
    rig.wait_guest(STAND_STILL).await?;
    rig.wait_guest(FILL).await?;
    rig.progress.step("the disk is full");
    rig.guest
        .run(&format!("{AGENT_GOES_ON}; {LOGIND_GOES_ON}"))
        .await?;
    expect_told(rig).await?;
    // As long as two more tries take.
    rig.wait_guest("sleep 25").await?;
    rig.expect_disarmed().await?;
    ensure!(
        rig.boot_id().await? == before.boot,
        "the node rebooted with a step unrecorded"
    );
    let view = expect_told(rig).await?;
    ensure!(
        view.answer.as_deref() == Some(Answer::InProgress.as_str()),
        "the full disk ended the upgrade: {view:#?}"
    );
    rig.wait_guest(GIVE_BACK).await?;
    rig.progress.step("there is room");
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}

/// Checks that the Node says why the upgrade waits: the agent could not write a record.
async fn expect_told(rig: &mut Rig) -> Result<View> {
    let unwritten = Reason::RecordUnwritten {
        detail: String::new(),
    };
    let code = unwritten.code();
    let says_so = move |view: &View| {
        let status = view.status.as_ref();
        status.and_then(|status| status.code.as_deref()) == Some(&code)
    };
    rig.node
        .wait("the Node to say why it stands", 5 * MINUTE, says_so)
        .await
}
