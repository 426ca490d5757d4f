//! /var, and with it the disk of the record, runs full while the node is drained: nothing is armed that could not be recorded, the node
//! stays up, and the upgrade goes on when there is room.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-full-disk-holds-the-upgrade-until-there-is-room",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Down to the last block, root's reserve included, and for as long as it is to last: a pod that is evicted gives some back.
const FILL: &str = "fill() { while fallocate -l $1 /var/full.$n 2>/dev/null; do n=$((n + 1)); done; }; n=0; for size in 1G 64M 1M 4K; do fill $size; done; sync; systemd-run --quiet --unit=full sh -c 'n=0; while :; do if fallocate -l 4K /var/full.more.$n 2>/dev/null; then n=$((n + 1)); else sleep 0.05; fi; done'";
const GIVE_BACK: &str = "systemctl stop full; rm -f /var/full.*; sync";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    rig.wait_guest(FILL).await?;
    rig.progress.step("the disk is full");
    workload::allow_unavailable(&client, 1).await?;
    // Several times as long as the agent waits until it tries again, shorter than the kubelet takes to clear up.
    rig.wait_guest("sleep 45").await?;
    rig.expect_disarmed().await?;
    ensure!(
        rig.boot_id().await? == before.boot,
        "the node rebooted with a step unrecorded"
    );
    let view = rig.node.now();
    ensure!(
        view.answer.as_deref() == Some(Answer::InProgress.as_str()),
        "the full disk ended the upgrade: {view:#?}"
    );
    rig.wait_guest(GIVE_BACK).await?;
    rig.progress.step("there is room");
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}
