//! The whole scene: a Node, its machine, and the agent that runs on it.

use std::path::PathBuf;
use std::time::Duration;

use agent::cluster::SILENCE;
use anyhow::Result;

use crate::agent_process::AgentProcess;
use crate::cluster::PATIENCE;
use crate::machine::TestMachine;
use crate::node::TestNode;

/// The poll interval.
const LOOK: Duration = Duration::from_millis(20);

/// Node, machine and agent.
pub struct Scene {
    /// The Node.
    pub node: TestNode,
    /// The machine.
    pub machine: TestMachine,
    /// For agents that start from now on: how long the API server may stay silent.
    pub silence: Duration,
    agent: Option<AgentProcess>,
}

/// The same policy, under which one pass of all checks is a verdict.
fn at_once(policy: &str) -> String {
    const HEALTH: &str = "[health]\n";
    const STEADY: &str = "[health]\nsteady-seconds = 0\n";
    if policy.contains(HEALTH) {
        policy.replacen(HEALTH, STEADY, 1)
    } else {
        format!("{policy}\n{STEADY}")
    }
}

impl Scene {
    /// A Node with a running agent.
    ///
    /// # Errors
    /// When the control plane does not serve.
    pub async fn new(word: &str) -> Result<Self> {
        Self::with_policy(word, "retry-seconds = 1\n").await
    }

    /// As [`Self::new`], with this policy file.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub async fn with_policy(word: &str, policy: &str) -> Result<Self> {
        let node = TestNode::new(word).await?;
        let machine = TestMachine::new(node.folder.path());
        node.kubelet_says(&machine.boot_id(), machine.version(), true)
            .await?;
        let mut scene = Self {
            node,
            machine,
            silence: SILENCE,
            agent: None,
        };
        std::fs::write(scene.policy(), at_once(policy))?;
        scene.start_agent()?;
        Ok(scene)
    }

    /// The policy file.
    #[must_use]
    pub fn policy(&self) -> PathBuf {
        self.node.folder.path().join("policy.toml")
    }

    /// Starts the agent, as systemd does after a kill.
    ///
    /// # Errors
    /// When the thread does not start.
    pub fn start_agent(&mut self) -> Result<()> {
        self.agent = Some(AgentProcess::start(
            &self.machine,
            &self.node.kubeconfig,
            &self.policy(),
            self.silence,
        )?);
        Ok(())
    }

    /// Kills the agent.
    ///
    /// # Errors
    /// When it ended before the kill.
    pub fn kill_agent(&mut self) -> Result<()> {
        self.agent.take().map_or(Ok(()), AgentProcess::kill)
    }

    /// Asks the agent to stop, as systemd does.
    pub fn ask_agent_to_stop(&self) {
        self.agent.iter().for_each(AgentProcess::ask_to_stop);
    }

    /// Waits until the agent has begun to stop.
    ///
    /// # Errors
    /// When it does not.
    pub async fn until_agent_stops(&self) -> Result<()> {
        let Some(agent) = &self.agent else {
            return Ok(());
        };
        Ok(tokio::time::timeout(PATIENCE, agent.until_it_stops()).await?)
    }

    /// Waits until the agent has ended by itself.
    ///
    /// # Errors
    /// When it continues.
    pub async fn until_agent_ended(&self) -> Result<()> {
        let ended = async {
            while !self.agent.as_ref().is_none_or(AgentProcess::has_ended) {
                tokio::time::sleep(LOOK).await;
            }
        };
        Ok(tokio::time::timeout(PATIENCE, ended).await?)
    }

    /// Waits for the reboot that the agent requests, and performs it. The kubelet then reports the
    /// new boot.
    ///
    /// # Errors
    /// When no reboot comes.
    pub async fn reboot(&mut self) -> Result<()> {
        self.reboot_silently().await?;
        self.kubelet_registers().await
    }

    /// As [`Self::reboot`], but the kubelet reports nothing yet.
    ///
    /// # Errors
    /// When no reboot comes.
    pub async fn reboot_silently(&mut self) -> Result<()> {
        tokio::time::timeout(PATIENCE, self.machine.until_down()).await?;
        self.power_cycle()
    }

    /// Switches the machine off and on again.
    ///
    /// # Errors
    /// When the agent ended before.
    pub fn power_cycle(&mut self) -> Result<()> {
        self.kill_agent()?;
        self.machine.power_cycle();
        self.start_agent()
    }

    /// The kubelet of the running system reports this boot.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn kubelet_registers(&self) -> Result<()> {
        self.node
            .kubelet_says(&self.machine.boot_id(), self.machine.version(), true)
            .await
    }
}
