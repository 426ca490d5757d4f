//! One host: its machine, its kubelet, and the real agent that lives on it, from boot to boot.

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

/// A host. Dropping it cuts its power; its Node stays as it was said last.
pub struct FleetHost {
    /// The machine.
    pub machine: FleetMachine,
    life: JoinHandle<()>,
    // The disk goes when the host does.
    _folder: Arc<TempDir>,
}

impl Drop for FleetHost {
    fn drop(&mut self) {
        self.life.abort();
    }
}

/// What the host's life needs.
struct Body {
    machine: FleetMachine,
    kubelet: Kubelet,
    kubeconfig: PathBuf,
    folder: Arc<TempDir>,
    fate: Fate,
}

impl FleetHost {
    /// Lets a registered host live.
    ///
    /// # Errors
    /// When its disk cannot be written.
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
                // The kubelet of a real host waits out an API server that is away, too.
                eprintln!("host {}: {error:#}", self.kubelet.name);
                tokio::time::sleep(HEARTBEAT / 10).await;
            }
        }
    }

    /// From the start of its programs until the machine is down, and up again.
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
        // A kubelet that cannot say so goes down all the same.
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

    /// Never ends by itself.
    async fn heart(&self) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            // A beat that fails is missed; the next one counts.
            let _ = self.kubelet.beat().await;
        }
    }

    fn start_agent(&self) -> Result<AgentProcess> {
        AgentProcess::start_with(Setup {
            hands: self.machine.clone(),
            kubeconfig: self.kubeconfig.clone(),
            silence: SILENCE,
            policy: self.folder.path().join("policy.toml"),
            journal: self.machine.journal(),
        })
    }
}
