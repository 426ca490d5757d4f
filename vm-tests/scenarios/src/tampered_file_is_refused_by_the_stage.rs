//! A critical file changes after the deployment. The stage in the initramfs rejects it before the
//! new root is entered.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "tampered-file-is-refused-by-the-stage",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v1-later")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    // A budget that allows no eviction holds the upgrade between deployment and trial.
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    let file = format!(
        "/sysroot/ostree/deploy/debian/deploy/{}.0/usr/lib/systemd/systemd",
        image.digest
    );
    // A file that fs-verity seals cannot be written, only replaced.
    let tamper = format!(
        "mount -o remount,rw /sysroot && cp {file} {file}.x && printf x >>{file}.x && mv {file}.x {file} && sync"
    );
    rig.guest
        .run(&format!("unshare -m sh -c \"{tamper}\""))
        .await?;
    workload::allow_unavailable(&client, 1).await?;
    rig.expect_fallback(&before, &["StageRefused"]).await?;
    Ok(())
}
