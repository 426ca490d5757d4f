//! The same by hand.

use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Commit, DiskKind, Place, empty_node};
use crate::rig::{Rig, UPGRADE};

/// What it took by hand.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Times {
    /// Pull, check, deploy.
    pub staging: f64,
    /// Each of the three.
    pub steps: [f64; 3],
    /// From the reboot until Ready and `kubeadm upgrade node`.
    pub down: f64,
    /// From a plain reboot, of the new system into itself, until Ready.
    pub plain: f64,
}

/// Upgrades once. `share`: of all objects in the repository, those of the new commit: `ostree fsck` reads all, and the
/// floor is reading those.
///
/// The new system is made the default before the reboot, not after: with our generator every one-shot is a guarded trial.
///
/// # Errors
/// When a command fails.
pub(super) async fn upgrade(image: &Commit, share: f64, place: &Place) -> Result<Times> {
    let mut rig = empty_node(DiskKind::Bios, place).await?;
    rig.guest.run("systemctl stop careen-agent").await?;
    let digest = &image.digest;
    let pull = format!("mount -o remount,rw /sysroot && ostree pull careen {digest}");
    let deploy = format!(
        "ostree admin deploy --not-as-default --origin-file=$(ls /ostree/deploy/debian/deploy/*.origin | head -n 1) {digest}"
    );
    let steps = [
        timed(&mut rig, &pull).await?,
        timed(&mut rig, "ostree fsck").await? * share,
        timed(&mut rig, &deploy).await?,
    ];
    place.progress.step("staged by hand");
    let begun = Instant::now();
    rig.wait_guest("ostree admin set-default 1").await?;
    reboot(&mut rig).await?;
    rig.wait_guest("kubeadm upgrade node").await?;
    let down = begun.elapsed().as_secs_f64();
    place.progress.step("a plain reboot");
    let begun = Instant::now();
    reboot(&mut rig).await?;
    Ok(Times {
        staging: steps.iter().sum(),
        steps,
        down,
        plain: begun.elapsed().as_secs_f64(),
    })
}

async fn timed(rig: &mut Rig, script: &str) -> Result<f64> {
    let begun = Instant::now();
    rig.wait_guest(script).await?;
    Ok(begun.elapsed().as_secs_f64())
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
