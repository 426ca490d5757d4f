//! careen-provider as a release starts it: the program in its own process, with the rights of its
//! manifests.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use careen_tests::measured::{cpu_milliseconds, kib, peak_kib};
use careen_tests::provider_release;
use careen_tests::replica;
use kube::Client;
use provider::names;
use serde_json::json;
use testkit::cluster_api::objects;
use testkit::control_plane::{ControlPlane, ports};
use testkit::process::Process;

use crate::hooks::Hooks;

/// The time limit until it is ready and answers Discovery. When core starts, it waits no longer for
/// an extension, and then exits (v1.14: "ExtensionConfig registry warmup timed out").
pub const CORE_WAITS: Duration = Duration::from_secs(60);

/// How long the benchmark waits in any case.
const PATIENCE: Duration = Duration::from_secs(180);

/// The poll interval meanwhile. It limits the resolution of the measurement.
const LOOK: Duration = Duration::from_millis(20);

/// The running process. A drop kills it.
pub struct Provider {
    /// The address of its hooks.
    pub hooks: SocketAddr,
    /// The time from its start until it was ready and first answered Discovery.
    pub to_begin: Duration,
    metrics: SocketAddr,
    process: Process,
}

impl Provider {
    /// Starts it in this management cluster, where the objects of its release are installed, except
    /// its ExtensionConfig. Waits until it is ready for calls and answers a client that trusts the
    /// same bundle as core.
    pub async fn start(program: &Path, plane: &ControlPlane, admin: &Client) -> Result<Self> {
        Self::start_with(program, plane, admin, &[]).await
    }

    /// The same with these arguments besides.
    pub async fn start_with(
        program: &Path,
        plane: &ControlPlane,
        admin: &Client,
        more: &[&str],
    ) -> Result<Self> {
        let [hooks, metrics] =
            ports::free()?.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        register(admin, hooks).await?;
        let kubeconfig = provider_release::kubeconfig(plane, admin).await?;
        let file = plane.dir().join("careen-provider.conf");
        std::fs::write(&file, serde_json::to_vec(&kubeconfig)?)?;
        let arguments = [
            // As in packaging/provider, except the addresses.
            "--leader-elect".to_owned(),
            "--log-json".to_owned(),
            format!("--kubeconfig={}", file.display()),
            format!("--hook-address={hooks}"),
            format!("--metrics-address={metrics}"),
        ];
        let more = more.iter().map(|one| (*one).to_owned());
        let arguments: Vec<String> = arguments.into_iter().chain(more).collect();
        let log = plane.dir().join("logs/careen-provider.log");
        let begun = Instant::now();
        let mut this = Self {
            hooks,
            to_begin: Duration::ZERO,
            metrics,
            process: Process::start(program, &arguments, &log)?,
        };
        let began = this.until_it_answers(admin, begun).await;
        this.to_begin = began.with_context(|| format!("what it says is in {}", log.display()))?;
        Ok(this)
    }

    /// Returns the duration. A Service sends core to the provider only when it is ready.
    async fn until_it_answers(&self, admin: &Client, begun: Instant) -> Result<Duration> {
        loop {
            let answers = async {
                self.is_ready().await?;
                Hooks::now(self.hooks, admin).await
            };
            match answers.await {
                Ok(_) => return Ok(begun.elapsed()),
                Err(error) if begun.elapsed() > PATIENCE => {
                    return Err(error.context(format!("no answer within {PATIENCE:?}")));
                }
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        }
    }

    async fn is_ready(&self) -> Result<()> {
        let said = replica::get(self.metrics, "/readyz").await?;
        ensure!(said.contains("200 OK"), "{said}");
        Ok(())
    }

    /// Returns Ok while it runs.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    /// The maximum of its memory, in KiB.
    pub fn peak_memory(&self) -> Result<f64> {
        peak_kib(self.process.pid())
    }

    /// Its current memory, in KiB.
    pub fn memory(&self) -> Result<f64> {
        kib(self.process.pid(), "Rss:")
    }

    /// CPU time so far, in milliseconds.
    pub fn processor(&self) -> Result<f64> {
        cpu_milliseconds(self.process.pid())
    }
}

/// Gives core the address of the hooks.
async fn register(admin: &Client, hooks: SocketAddr) -> Result<()> {
    let extension = json!({
        "apiVersion": format!("{}/{}", names::RUNTIME_GROUP, names::CORE_VERSION), "kind": "ExtensionConfig",
        "metadata": { "name": names::MANAGER }, "spec": { "clientConfig": { "url": format!("https://{hooks}") } },
    });
    objects::apply(admin, &extension).await?;
    Ok(())
}
