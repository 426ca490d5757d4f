//! The managers: their definitions, processes and webhooks.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use serde_json::Value;

use super::manager::{Manager, Ports};
use super::manifests::{self, Endpoint};
use super::probe::{self, PATIENCE};
use super::version::Version;
use super::{definitions, objects};
use crate::control_plane::{ControlPlane, ports};
use crate::process::{Process, tail};

/// Running managers. Dropping them kills their processes.
pub struct Managers {
    version: Version,
    client: Client,
    authority: String,
    parts: Vec<Part>,
}

struct Part {
    manager: Manager,
    built: PathBuf,
    ports: Ports,
    arguments: Vec<String>,
    log: PathBuf,
    process: Option<Process>,
}

impl Managers {
    /// Installs the definitions, starts the three managers and installs their webhooks.
    ///
    /// # Errors
    ///
    /// Fails when a build fails or a manager does not become ready. The message names its log.
    pub async fn start(version: Version, plane: &ControlPlane) -> Result<Self> {
        Self::start_these(&Manager::ALL, version, plane).await
    }

    /// Like [`Managers::start`], but only these managers. A worker node needs no kubeadm control
    /// plane manager.
    ///
    /// # Errors
    ///
    /// Fails like [`Managers::start`].
    pub async fn start_these(
        these: &[Manager],
        version: Version,
        plane: &ControlPlane,
    ) -> Result<Self> {
        let parts: Result<Vec<Part>> = these
            .iter()
            .map(|manager| Part::new(*manager, version, plane))
            .collect();
        let authority = fs::read(plane.dir().join("pki/ca.crt"))?;
        let mut this = Self {
            version,
            client: plane.client().await?,
            authority: STANDARD.encode(authority),
            parts: parts?,
        };
        this.install_definitions().await?;
        for part in &mut this.parts {
            part.start().await?;
        }
        this.install_webhooks().await?;
        Ok(this)
    }

    /// The version of Cluster API.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Kills one manager, as a power cut would.
    pub fn kill(&mut self, manager: Manager) {
        for part in &mut self.parts {
            if part.manager == manager {
                part.process = None;
            }
        }
    }

    /// Starts a killed manager again, on the same ports, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Fails when it does not become ready.
    pub async fn start_again(&mut self, manager: Manager) -> Result<()> {
        for part in &mut self.parts {
            if part.manager == manager && part.process.is_none() {
                part.start().await?;
            }
        }
        Ok(())
    }

    /// A manager's log.
    ///
    /// # Errors
    ///
    /// Fails when it was never started.
    pub fn log(&self, manager: Manager) -> Result<PathBuf> {
        let part = self.parts.iter().find(|part| part.manager == manager);
        Ok(part.context("it was never started")?.log.clone())
    }

    /// Succeeds while all started managers run.
    ///
    /// # Errors
    ///
    /// Fails when one has ended. The message names its log and repeats the last lines.
    pub fn check(&mut self) -> Result<()> {
        for part in &mut self.parts {
            if let Some(process) = &mut part.process {
                process.check()?;
            }
        }
        Ok(())
    }

    async fn install_definitions(&self) -> Result<()> {
        let mut all: Vec<Value> = Vec::new();
        for part in &self.parts {
            all.extend(manifests::definitions(&part.built, part.manager)?);
        }
        definitions::install(&self.client, &all).await
    }

    /// Runs after the managers are up, because an unreachable webhook rejects every write.
    async fn install_webhooks(&self) -> Result<()> {
        for part in &self.parts {
            let endpoint = Endpoint {
                port: part.ports.webhook,
                authority: &self.authority,
            };
            let webhooks = manifests::webhooks(&part.built, part.manager, &endpoint)?;
            objects::apply_all(&self.client, &webhooks).await?;
        }
        for part in &self.parts {
            probe::webhooks_are_in_force(&self.client, part.manager).await?;
        }
        Ok(())
    }
}

impl Part {
    fn new(manager: Manager, version: Version, plane: &ControlPlane) -> Result<Self> {
        let [webhook, health, diagnostics] = ports::free()?;
        let ports = Ports {
            webhook,
            health,
            diagnostics,
        };
        let log = format!("logs/cluster-api-{}.log", manager.name());
        Ok(Self {
            manager,
            built: manager.built(version)?,
            ports,
            arguments: manager.arguments(plane, ports),
            log: plane.dir().join(log),
            process: None,
        })
    }

    async fn start(&mut self) -> Result<()> {
        let program = self.built.join("program");
        let mut process = Process::start(&program, &self.arguments, &self.log)?;
        let start = tokio::time::Instant::now();
        while !probe::is_ready(self.ports.health).await {
            process.check()?;
            if start.elapsed() > PATIENCE {
                let (name, end) = (self.manager.name(), tail(&self.log));
                bail!("manager {name} is not ready after {PATIENCE:?}; the end of its log:\n{end}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.process = Some(process);
        Ok(())
    }
}
