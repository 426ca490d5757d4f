//! The same upgrade by hand.

use std::time::Instant;

use anyhow::{Context, Result};
use rig::images::{Commit, DiskKind};
use rig::{Rig, UPGRADE};
use serde::{Deserialize, Serialize};

use super::meter::{Meter, Took};
use super::place::{Place, empty_node};

/// What it took by hand.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Times {
    /// Pull, check, deploy.
    pub staging: Took,
    /// Each of the three.
    pub steps: [Took; 3],
    /// From the reboot until Ready and `kubeadm upgrade node`.
    pub down: Took,
    /// From a plain reboot, of the new system into itself, until Ready.
    pub plain: Took,
}

/// Upgrades once. `share` is the new commit's share of all objects in the repository. `ostree fsck`
/// reads all objects, and the minimum is reading those.
///
/// It makes the new system the default before the reboot, not after: with our generator every
/// one-shot is a guarded trial.
///
/// # Errors
///
/// Fails when a command fails.
pub(super) async fn upgrade(image: &Commit, share: f64, place: &Place) -> Result<Times> {
    let mut rig = empty_node(DiskKind::Bios, place).await?;
    rig.guest.run("systemctl stop careen-agent").await?;
    let digest = &image.digest;
    let pull = format!("mount -o remount,rw /sysroot && ostree pull careen {digest}");
    let deploy = format!(
        "ostree admin deploy --not-as-default --origin-file=$(ls /ostree/deploy/debian/deploy/*.origin | head -n 1) {digest}"
    );
    let meter = Meter::at(rig.emulator()?)?;
    let steps = [
        timed(&mut rig, &meter, &pull).await?,
        timed(&mut rig, &meter, "ostree fsck").await?.times(share),
        timed(&mut rig, &meter, &deploy).await?,
    ];
    place.progress.step("staged by hand");
    let begun = Instant::now();
    rig.wait_guest("ostree admin set-default 1").await?;
    reboot(&mut rig).await?;
    rig.wait_guest("kubeadm upgrade node").await?;
    let down = meter.since(begun);
    place.progress.step("a plain reboot");
    let begun = Instant::now();
    reboot(&mut rig).await?;
    Ok(Times {
        staging: steps.iter().copied().sum(),
        steps,
        down,
        plain: meter.since(begun),
    })
}

async fn timed(rig: &mut Rig, meter: &Meter, script: &str) -> Result<Took> {
    let begun = Instant::now();
    rig.wait_guest(script).await?;
    Ok(meter.since(begun))
}

/// Reboots and waits until the Node is Ready.
async fn reboot(rig: &mut Rig) -> Result<()> {
    let old = rig.boot_id().await?;
    rig.guest.run("systemctl --no-block reboot").await?;
    let boot = rig.wait_boot(Some(&old)).await?;
    rig.node
        .wait("the node is Ready", UPGRADE, |view| {
            view.ready && view.boot == boot
        })
        .await
        .context("the node did not come back")?;
    Ok(())
}
