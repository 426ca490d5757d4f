//! A CSI driver whose volumes are folders on the node. Its node service (`kube/csi`) runs next to
//! the rig and answers the kubelet: systemd's socket proxy in the guest leads there. A scenario
//! decides when its controller attaches and detaches ([`volume`]).

pub mod volume;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use testkit::control_plane::{HOST_SEEN_FROM_GUEST, ports};
use testkit::process::Process;
use testkit::programs;
use tokio::net::TcpStream;

use crate::guest::Guest;
use crate::node;
use crate::patience::within;

/// The name of the driver.
pub const NAME: &str = "csi.rig.example";

/// The kubelet looks for new plugins in this folder. The driver serves both of its services on one
/// socket.
const SOCKET: &str = "/var/lib/kubelet/plugins_registry/rig.sock";

/// How long it may take to listen. It takes less than a second on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The driver's node service. Dropping it ends it.
#[derive(Debug)]
pub struct Driver {
    port: u16,
    _process: Process,
}

impl Driver {
    /// Starts the service, with its log in `dir`.
    ///
    /// # Errors
    ///
    /// Fails when it does not build or listen.
    pub async fn start(dir: &Path) -> Result<Self> {
        let [port] = ports::free()?;
        let address = format!("127.0.0.1:{port}");
        let arguments = [address.as_str(), SOCKET, NAME, node::NAME].map(str::to_owned);
        let mut process = Process::start(&programs::csi()?, &arguments, &dir.join("csi.log"))?;
        let listens = async {
            while TcpStream::connect(&address).await.is_err() {
                process.check()?;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            anyhow::Ok(())
        };
        within(PATIENCE, listens)
            .await
            .context("the CSI driver does not listen")??;
        Ok(Self {
            port,
            _process: process,
        })
    }

    /// Makes its socket in the guest, for this boot. The kubelet registers the driver then.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer or has no such proxy.
    pub async fn introduce_to(&self, guest: &mut Guest) -> Result<()> {
        let proxy = format!(
            "/usr/lib/systemd/systemd-socket-proxyd {HOST_SEEN_FROM_GUEST}:{}",
            self.port
        );
        let start = format!(
            "systemd-run --quiet --unit=rig-csi --socket-property=ListenStream={SOCKET} {proxy}"
        );
        guest.run(&start).await.map(drop)
    }
}
