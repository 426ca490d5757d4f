//! careen-provider as a release starts it: the program, in a process of its own, with the rights of its manifests.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::measured::{cpu_milliseconds, kib};
use careen_tests::provider_process;
use careen_tests::replica;
use vm_tests::cluster_api::objects;
use vm_tests::process::Process;

use crate::scene::Scene;
use crate::server::free_ports;

/// It runs. Dropping it kills it.
pub struct Provider {
    /// Where it is called.
    pub hooks: SocketAddr,
    metrics: SocketAddr,
    process: Process,
}

impl Provider {
    /// Starts it and waits until it is ready to be called.
    pub async fn start(program: &Path, scene: &Scene) -> Result<Self> {
        let [hooks, metrics] =
            free_ports()?.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let plane = &scene.management;
        let kubeconfig = provider_process::kubeconfig(plane, &scene.admin).await?;
        let file = plane.dir().join("careen-provider.conf");
        std::fs::write(&file, serde_json::to_vec(&kubeconfig)?)?;
        let arguments = [
            // As packaging/provider has it, but for the addresses.
            "--leader-elect".to_owned(),
            "--log-json".to_owned(),
            format!("--kubeconfig={}", file.display()),
            format!("--hook-address={hooks}"),
            format!("--metrics-address={metrics}"),
        ];
        let log = plane.dir().join("logs/careen-provider.log");
        let this = Self {
            hooks,
            metrics,
            process: Process::start(program, &arguments, &log)?,
        };
        let ready = objects::until("careen-provider ready", PATIENCE, || this.is_ready()).await;
        ready.with_context(|| format!("what it says is in {}", log.display()))?;
        Ok(this)
    }

    async fn is_ready(&self) -> Result<()> {
        let said = replica::get(self.metrics, "/readyz").await?;
        ensure!(said.contains("200 OK"), "{said}");
        Ok(())
    }

    /// What it keeps in memory now, in KiB.
    pub fn memory(&self) -> Result<f64> {
        kib(self.process.pid(), "Rss:")
    }

    /// Milliseconds on a processor so far.
    pub fn processor(&self) -> Result<f64> {
        cpu_milliseconds(self.process.pid())
    }
}
