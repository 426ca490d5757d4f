//! What the fix asks of systemd.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use systemd::{ActiveState, Bus};
use upgrade::names;
use upgrade::observe::Check;

use crate::health::kubelet;

/// How long the kubelet may take to stop, and then to report that it is healthy. Its default
/// `TimeoutStopSec` is 90 s.
const KUBELET: Duration = Duration::from_secs(120);
/// How long the mount may take.
const MOUNT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(500);

/// The services of a node.
pub trait Services {
    /// Stops the kubelet. Its containers continue to run. Returns whether it ran.
    fn stop_kubelet(&self) -> impl Future<Output = Result<bool>>;
    /// Starts the kubelet, and waits until it reports that it is healthy.
    fn start_kubelet(&self) -> impl Future<Output = Result<()>>;
    /// Mounts the shared folder by its unit, whose file is new.
    fn mount(&self) -> impl Future<Output = Result<()>>;
    /// Unmounts it.
    fn unmount(&self) -> impl Future<Output = Result<()>>;
    /// Makes systemd read its unit files.
    fn reload(&self) -> impl Future<Output = Result<()>>;
}

/// The node's own systemd.
#[derive(Clone, Copy, Debug)]
pub struct Systemd;

impl Services for Systemd {
    async fn stop_kubelet(&self) -> Result<bool> {
        let bus = Bus::system().await?;
        let ran = bus.is_alive(names::KUBELET_UNIT).await?;
        if !bus.end(names::KUBELET_UNIT, KUBELET).await? {
            bail!("{} did not stop within {KUBELET:?}", names::KUBELET_UNIT);
        }
        Ok(ran)
    }

    async fn start_kubelet(&self) -> Result<()> {
        Bus::system().await?.start(names::KUBELET_UNIT).await?;
        let begun = Instant::now();
        loop {
            let told = match kubelet::check().await {
                Check::Pass => return Ok(()),
                Check::Pending(told) | Check::Fail(told) | Check::Broken(told) => told,
            };
            if begun.elapsed() > KUBELET {
                bail!("the kubelet is not healthy {KUBELET:?} after its start: {told}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn mount(&self) -> Result<()> {
        let bus = Bus::system().await?;
        bus.start(names::KUBERNETES_MOUNT).await?;
        let begun = Instant::now();
        while bus.state(names::KUBERNETES_MOUNT).await? != Some(ActiveState::Active) {
            if begun.elapsed() > MOUNT {
                bail!("{} is not active after {MOUNT:?}", names::KUBERNETES_MOUNT);
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    async fn unmount(&self) -> Result<()> {
        let bus = Bus::system().await?;
        let ended = bus.end(names::KUBERNETES_MOUNT, MOUNT).await?;
        if !ended {
            bail!("{} did not stop within {MOUNT:?}", names::KUBERNETES_MOUNT);
        }
        Ok(())
    }

    async fn reload(&self) -> Result<()> {
        let bus = Bus::system().await?.with_answer(MOUNT);
        bus.reload()
            .await
            .context("systemd cannot read its unit files")
    }
}
