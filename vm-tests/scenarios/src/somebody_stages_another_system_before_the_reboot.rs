//! Somebody stages a system of their own between our deployment and the reboot. The shutdown would
//! make it the default under our one-shot. The agent arms nothing, their system stays staged, and
//! the Node says why the upgrade ended.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "somebody-stages-another-system-before-the-reboot",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2", "v3"],
    run: |rig| Box::pin(run(rig)),
};

/// Runs in its own mount namespace, where /sysroot is writable.
const STAGE: &str = "unshare -m sh -ec 'mount -o remount,bind,rw /sysroot; ostree pull careen v3; ostree admin deploy --stage careen:v3' && test -e /run/ostree/staged-deployment";

/// The system that boots after a power cut. A staged system becomes the default only at a shutdown,
/// and it is listed first.
const DEFAULT: &str =
    "ostree admin status --skip-signatures | grep -v staged | grep -oE '[0-9a-f]{64}' | head -n 1";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    // A budget that allows no eviction holds the upgrade between deployment and trial.
    workload::allow_unavailable(&client, 0).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    rig.wait_guest(STAGE).await?;
    rig.progress.step("somebody has staged v3");
    workload::allow_unavailable(&client, 1).await?;
    let view = rig.expect_failed(&["ForeignDefault"], UPGRADE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(reason.contains("/run/ostree/staged-deployment"), "{reason}");
    ensure!(rig.boot_id().await? == before.boot, "it rebooted");
    ensure!(
        rig.guest.run(DEFAULT).await? == before.commit,
        "the boot menu has changed"
    );
    rig.wait_guest("test -e /run/ostree/staged-deployment")
        .await?;
    rig.expect_disarmed().await
}
