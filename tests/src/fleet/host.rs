//! One host: its machine, its kubelet, and the real agent that runs on it, over all boots.

use std::path::PathBuf;
use std::sync::Arc;

use agent::cluster::SILENCE;
use agent::run::Setup;
use anyhow::Result;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::fate::Fate;
use super::kubelet::{HEARTBEAT, Kubelet};
use super::machine::FleetMachine;
use crate::agent_process::AgentProcess;

/// A host. A drop cuts its power, and its Node keeps its last report.
pub struct FleetHost {
    /// The machine.
    pub machine: FleetMachine,
    life: JoinHandle<()>,
    // The host owns the disk.
    _folder: Arc<TempDir>,
}

impl Drop for FleetHost {
    fn drop(&mut self) {
        self.life.abort();
    }
}

/// What the host needs to run.
struct Body {
    machine: FleetMachine,
    kubelet: Kubelet,
    kubeconfig: PathBuf,
    folder: Arc<TempDir>,
    fate: Fate,
}

impl FleetHost {
    /// Starts a registered host.
    ///
    /// # Errors
    /// When its disk is not writable.
    pub fn start(
        machine: FleetMachine,
        kubelet: Kubelet,
        kubeconfig: PathBuf,
        folder: TempDir,
        fate: Fate,
    ) -> Result<Self> {
        std::fs::write(folder.path().join("policy.toml"), "retry-seconds = 1\n")?;
        let folder = Arc::new(folder);
        let body = Body {
            machine: machine.clone(),
            kubelet,
            kubeconfig,
            folder: Arc::clone(&folder),
            fate,
        };
        Ok(Self {
            machine,
            life: tokio::spawn(body.live()),
            _folder: folder,
        })
    }
}

impl Body {
    async fn live(mut self) {
        loop {
            if let Err(error) = self.one_boot().await {
                // The kubelet of a real host also waits for an unavailable API server.
                eprintln!("host {}: {error:#}", self.kubelet.name);
                tokio::time::sleep(HEARTBEAT / 10).await;
            }
        }
    }

    /// One boot, from the start of its programs until the machine is down, and the start of the
    /// next boot.
    async fn one_boot(&mut self) -> Result<()> {
        let agent = self.start_agent()?;
        self.until_registered().await;
        tokio::select! {
            () = self.machine.until_down() => {}
            () = self.heart() => {}
            () = self.machine.until_deploying(), if self.fate.agent_dies => {
                self.fate.agent_dies = false;
                return agent.kill();
            }
        }
        agent.kill()?;
        // A kubelet that cannot report the shutdown still shuts down.
        let _ = self.kubelet.says_it_goes_down().await;
        tokio::time::sleep(self.fate.boot).await;
        self.machine.power_cycle();
        if self.machine.is_on_trial() && self.fate.loses_power {
            self.fate.loses_power = false;
            self.machine.power_cycle();
        }
        Ok(())
    }

    async fn until_registered(&self) {
        while let Err(error) = self
            .kubelet
            .says(&self.machine.boot_id(), self.machine.version())
            .await
        {
            eprintln!("kubelet {}: {error:#}", self.kubelet.name);
            tokio::time::sleep(HEARTBEAT / 10).await;
        }
    }

    /// Never returns by itself.
    async fn heart(&self) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            // A failed heartbeat is lost, and the next one counts.
            let _ = self.kubelet.beat().await;
        }
    }

    fn start_agent(&self) -> Result<AgentProcess> {
        AgentProcess::start_with(Setup {
            node: self.machine.clone(),
            kubeconfig: self.kubeconfig.clone(),
            silence: SILENCE,
            policy: self.folder.path().join("policy.toml"),
            store: self.machine.store(),
        })
    }
}
