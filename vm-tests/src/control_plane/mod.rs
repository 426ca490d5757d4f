//! A control plane as four processes on this machine: etcd, API server, controller manager,
//! scheduler.
//!
//! kubeadm's own phases create it, so that `kubeadm join` and `kubeadm upgrade node` find what they
//! expect. A guest reaches the API server as 10.0.2.2 (QEMU's user network maps that to our
//! loopback); programs on this machine reach it as 127.0.0.1. It is ready in about 6 s. Everything
//! is in one folder, which can be copied while stopped and started elsewhere. So a cluster can be
//! restored together with a VM's snapshot. It is not for production: etcd neither encrypts nor
//! fsyncs.

mod bootstrap;
mod components;
mod configuration;
mod credentials;
pub mod ports;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::Client;

use crate::process::{Process, tail};
use crate::programs;
pub use configuration::JOIN_TOKEN;
use ports::Ports;

/// The address at which QEMU's user network shows the host's loopback to the guest.
pub const HOST_SEEN_FROM_GUEST: &str = "10.0.2.2";

/// How long a component may take to answer. It takes seconds on a quiet machine; the limit is long
/// because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running control plane. Dropping it kills its processes; its folder remains.
#[derive(Debug)]
pub struct ControlPlane {
    dir: PathBuf,
    bin: PathBuf,
    ports: Ports,
    etcd: Mutex<Option<Process>>,
    api: Mutex<Option<Process>>,
    controllers: Option<Process>,
    scheduler: Option<Process>,
    /// Waits longer for a silent node. On a busy machine an emulated node's heartbeats come late,
    /// so it counts as lost only after two minutes.
    is_patient: bool,
}

impl ControlPlane {
    /// Starts the control plane in `dir`. An empty or missing folder becomes a new cluster first.
    ///
    /// # Errors
    ///
    /// Fails when a program does not start or answer. The message names its log.
    pub async fn start(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir.join("logs"))?;
        let dir = dir.canonicalize()?;
        let complete = dir.join("complete");
        let new = !complete.exists();
        let cut_short = new && dir.join("etcd").exists();
        ensure!(
            !cut_short,
            "{} holds a cluster whose making was cut short; remove it",
            dir.display()
        );
        let bin = programs::kubernetes(programs::CONTROL_PLANE)?;
        let ports = Ports::of(&dir)?;
        let mut this = Self {
            dir,
            bin,
            ports,
            etcd: Mutex::default(),
            api: Mutex::default(),
            controllers: None,
            scheduler: None,
            is_patient: true,
        };
        // Also for a copy, because kubeadm needs the path of the folder.
        configuration::write(&this)?;
        if new {
            credentials::make(&this)?;
        }
        this.start_all().await?;
        if new {
            bootstrap::run(&this).await?;
            fs::write(complete, "")?;
        }
        Ok(this)
    }

    /// The cluster administrator's kubeconfig, for programs on this machine.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.kubeconfig("admin")
    }

    /// The port of the API server, the same on 127.0.0.1 and, for a guest, on 10.0.2.2.
    #[must_use]
    pub fn api_port(&self) -> u16 {
        self.ports.api
    }

    /// The folder that holds the cluster.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A program of the control plane's version: `kubectl`, `kubeadm`, ...
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// A client with the administrator's rights, bound to the caller's runtime.
    ///
    /// # Errors
    ///
    /// Fails when the kubeconfig cannot be read.
    pub async fn client(&self) -> Result<Client> {
        credentials::client(&self.admin_kubeconfig()).await
    }

    /// A new kubeconfig with the identity of this kubelet: `CN=system:node:<name>`,
    /// `O=system:nodes`.
    ///
    /// # Errors
    ///
    /// Fails when kubeadm refuses.
    pub fn node_kubeconfig(&self, node: &str, valid_for: Duration) -> Result<PathBuf> {
        credentials::for_node(self, node, valid_for)
    }

    /// Kills the API server, so that connections are refused. The rest continues, as in a real
    /// outage.
    pub fn stop_api_server(&self) {
        *lock(&self.api) = None;
    }

    /// Starts the API server again and waits until it is ready. Does nothing while it runs.
    ///
    /// # Errors
    ///
    /// Fails when it does not become ready.
    pub async fn start_api_server(&self) -> Result<()> {
        if self.begin_api_server()? {
            self.wait_for_api().await?;
        }
        Ok(())
    }

    /// Returns whether it started the API server.
    fn begin_api_server(&self) -> Result<bool> {
        let mut api = lock(&self.api);
        if api.is_some() {
            return Ok(false);
        }
        let program = self.program("kube-apiserver");
        let arguments = components::api_server(self);
        let log = self.log("kube-apiserver");
        *api = Some(Process::start(&program, &arguments, &log)?);
        Ok(true)
    }

    /// Stops the API server without closing its port: connections open, and no answer ever comes.
    ///
    /// # Errors
    ///
    /// Fails when it does not run.
    pub fn freeze_api_server(&self) -> Result<()> {
        lock(&self.api)
            .as_ref()
            .context("the API server does not run")?
            .freeze()
    }

    /// Resumes a frozen API server.
    ///
    /// # Errors
    ///
    /// Fails when it does not run.
    pub fn thaw_api_server(&self) -> Result<()> {
        lock(&self.api)
            .as_ref()
            .context("the API server does not run")?
            .signal("CONT")
    }

    /// Kills everything. The folder can be copied now.
    pub fn stop(&mut self) {
        // Clients before servers, so that no log fills with refused connections.
        self.scheduler = None;
        self.controllers = None;
        self.stop_api_server();
        *lock(&self.etcd) = None;
    }

    /// Copies the whole cluster to `to` (which must not exist) and continues.
    ///
    /// # Errors
    ///
    /// Fails when the copy or the new start fails.
    pub async fn save(&mut self, to: &Path) -> Result<()> {
        self.stop();
        copy(&self.dir, to)?;
        self.start_all().await
    }

    async fn start_all(&mut self) -> Result<()> {
        let etcd = Process::start(
            &programs::etcd()?,
            &components::etcd(self),
            &self.log("etcd"),
        )?;
        *lock(&self.etcd) = Some(etcd);
        self.start_api_server().await?;
        self.start_controllers()?;
        let log = self.log("kube-scheduler");
        self.scheduler = Some(Process::start(
            &self.program("kube-scheduler"),
            &components::scheduler(self),
            &log,
        )?);
        Ok(())
    }

    fn start_controllers(&mut self) -> Result<()> {
        self.controllers = Some(Process::start(
            &self.program("kube-controller-manager"),
            &components::controller_manager(self),
            &self.log("kube-controller-manager"),
        )?);
        Ok(())
    }

    /// From now on a silent node counts as lost after 50 s, as in an operator's cluster.
    ///
    /// # Errors
    ///
    /// Fails when the controllers do not start again.
    pub fn miss_silent_nodes_as_kubernetes_does(&mut self) -> Result<()> {
        self.is_patient = false;
        self.controllers = None;
        self.start_controllers()
    }

    /// Uses the administrator's kubeconfig. Its CA is only ours, so another server on this port
    /// never counts.
    async fn wait_for_api(&self) -> Result<()> {
        let client = credentials::client(&self.kubeconfig("super-admin")).await?;
        let start = Instant::now();
        loop {
            for part in [&self.etcd, &self.api] {
                lock(part).as_mut().map_or(Ok(()), Process::check)?;
            }
            let request =
                kube::core::Request::new("").get("readyz", &kube::api::GetParams::default())?;
            let answer =
                tokio::time::timeout(Duration::from_secs(5), client.request_text(request)).await;
            if let Ok(Ok(text)) = answer
                && text == "ok"
            {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                bail!(
                    "the API server is not ready after {PATIENCE:?}; the end of its log:\n{}",
                    tail(&self.log("kube-apiserver"))
                );
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn kubeadm(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(self.program("kubeadm"))
            .args(arguments)
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "kubeadm {}: {}\n{complaint}",
            arguments.join(" "),
            output.status
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    fn kubeconfig(&self, user: &str) -> PathBuf {
        self.dir.join("kubeconfigs").join(format!("{user}.conf"))
    }

    fn log(&self, component: &str) -> PathBuf {
        self.dir.join("logs").join(format!("{component}.log"))
    }
}

/// A panicked test leaves a process or none; either way the value is usable.
fn lock(part: &Mutex<Option<Process>>) -> MutexGuard<'_, Option<Process>> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether another program listens on the port that a stopped cluster needs for its API server.
///
/// # Errors
///
/// Fails when the folder holds no cluster.
pub fn port_is_taken(dir: &Path) -> Result<bool> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", Ports::of(dir)?.api)).is_err())
}

/// Copies a stopped cluster; start it with [`ControlPlane::start`] on the copy.
///
/// # Errors
///
/// Fails when the target exists or the copy fails.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    ensure!(
        !to.exists(),
        "{} exists already; remove it to copy a cluster there",
        to.display()
    );
    let status = Command::new("cp")
        .args(["-a", "--reflink=auto"])
        .arg(from)
        .arg(to)
        .status()?;
    ensure!(
        status.success(),
        "cannot copy {} to {}: {status}",
        from.display(),
        to.display()
    );
    fs::remove_dir_all(to.join("logs"))?;
    Ok(())
}
