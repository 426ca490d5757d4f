//! /boot returns to its content from before the deployment, as from a backup or from a disk that
//! was slower than the other, and the power is cut. The old system boots. The upgrade ends either
//! way, and the old or the new system serves.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "boot-put-back-to-an-older-copy",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Copies the whole of /boot, without a write in between.
const COPY: &str = "set -e; disk=$(findmnt --noheadings --output SOURCE /boot); fsfreeze --freeze /boot; dd if=$disk of=/var/boot.img bs=1M status=none || failed=1; fsfreeze --unfreeze /boot; [ -z \"$failed\" ]; sync";
/// Keeps /boot frozen until the power is cut, so that nothing newer overwrites the copy.
const PUT_BACK: &str = "disk=$(findmnt --noheadings --output SOURCE /boot) && fsfreeze --freeze /boot && dd if=/var/boot.img of=$disk bs=1M conv=fsync status=none";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.wait_guest(COPY).await?;
    let client = rig.plane.client().await?;
    // A budget that allows no eviction holds the upgrade between deployment and trial.
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    rig.wait_guest(PUT_BACK).await?;
    rig.progress.step("/boot is as it was before");
    rig.cut_power()?;
    rig.power_on().await?;
    let boot = rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    // A node that boots slowly counts as lost, and without a healthy pod no budget allows an
    // eviction.
    let back = |view: &crate::node::View| view.ready && view.boot == boot;
    rig.node
        .wait("the old system is Ready", UPGRADE, back)
        .await?;
    workload::wait_until_running(&client, UPGRADE).await?;
    workload::allow_unavailable(&client, 1).await?;
    let ended =
        |view: &crate::node::View| matches!(view.answer.as_deref(), Some("Upgraded" | "Failed"));
    let view = rig.node.wait("an answer", UPGRADE, ended).await?;
    if view.answer.as_deref() == Some(Answer::Upgraded.as_str()) {
        rig.expect_upgraded(&before, &image).await?;
    } else {
        rig.expect_old_system(&before).await?;
    }
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}
