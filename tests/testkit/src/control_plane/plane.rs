//! The four processes: started, stopped, frozen, saved.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::Client;

use super::folder::{Folder, copy};
use super::{bootstrap, components, configuration, credentials};
use crate::process::{Process, tail};
use crate::programs;

/// How long a component may take to answer. It takes seconds on a quiet machine; the limit is long
/// because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running control plane. Dropping it kills its processes; its folder remains.
#[derive(Debug)]
pub struct ControlPlane {
    folder: Folder,
    etcd: Mutex<Option<Process>>,
    api: Mutex<Option<Process>>,
    controllers: Option<Process>,
    scheduler: Option<Process>,
    /// Waits longer for a silent node. On a busy machine an emulated node's heartbeats come late,
    /// so it counts as lost only after two minutes.
    is_patient: bool,
    /// The administrator's kubeconfig of the cluster that serves instead.
    instead: Option<PathBuf>,
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
        let folder = Folder::of(dir)?;
        // Also for a copy, because kubeadm needs the path of the folder.
        configuration::write(&folder)?;
        if new {
            credentials::make(&folder)?;
        }
        let mut this = Self {
            folder,
            etcd: Mutex::default(),
            api: Mutex::default(),
            controllers: None,
            scheduler: None,
            is_patient: true,
            instead: None,
        };
        this.start_all().await?;
        if new {
            bootstrap::run(&this.folder).await?;
            fs::write(complete, "")?;
        }
        Ok(this)
    }

    /// The cluster administrator's kubeconfig, for programs on this machine.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> PathBuf {
        let instead = self.instead.clone();
        instead.unwrap_or_else(|| self.folder.kubeconfig("admin"))
    }

    /// Ends the cluster. From then on, this kubeconfig of another one is the administrator's.
    pub fn give_way(&mut self, to: PathBuf) {
        self.stop();
        self.instead = Some(to);
    }

    /// The port of the API server, the same on 127.0.0.1 and, for a guest, on 10.0.2.2.
    #[must_use]
    pub fn api_port(&self) -> u16 {
        self.folder.ports.api
    }

    /// The folder that holds the cluster.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.folder.dir
    }

    /// A program of the control plane's version: `kubectl`, `kubeadm`, ...
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.program(name)
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
        credentials::for_node(&self.folder, node, valid_for)
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
        let arguments = components::api_server(&self.folder);
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
        copy(&self.folder.dir, to)?;
        self.start_all().await
    }

    async fn start_all(&mut self) -> Result<()> {
        let etcd = Process::start(
            &programs::etcd()?,
            &components::etcd(&self.folder),
            &self.log("etcd"),
        )?;
        *lock(&self.etcd) = Some(etcd);
        self.start_api_server().await?;
        self.start_controllers()?;
        let log = self.log("kube-scheduler");
        self.scheduler = Some(Process::start(
            &self.program("kube-scheduler"),
            &components::scheduler(&self.folder),
            &log,
        )?);
        Ok(())
    }

    fn start_controllers(&mut self) -> Result<()> {
        self.controllers = Some(Process::start(
            &self.program("kube-controller-manager"),
            &components::controller_manager(&self.folder, self.is_patient),
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
        let client = credentials::client(&self.folder.kubeconfig("super-admin")).await?;
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

    fn log(&self, component: &str) -> PathBuf {
        self.folder
            .dir
            .join("logs")
            .join(format!("{component}.log"))
    }
}

/// A panicked test leaves a process or none; either way the value is usable.
fn lock(part: &Mutex<Option<Process>>) -> MutexGuard<'_, Option<Process>> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
