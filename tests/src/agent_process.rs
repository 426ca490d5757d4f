//! An agent that behaves like a process: a test can kill it at any moment, and no part of it
//! continues.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use agent::access::NodeAccess;
use agent::run::{Setup, run};
use anyhow::{Context, Result};
use tokio::sync::{Notify, oneshot, watch};

use crate::machine::TestMachine;

/// A running agent. Dropping it kills it.
pub struct AgentProcess {
    stop: Arc<Notify>,
    heard: watch::Receiver<bool>,
    kill: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl AgentProcess {
    /// Starts the real loop on this machine, with this credential and policy file. After `silence`
    /// without an answer from the API server, the agent treats the connection as dead.
    ///
    /// # Errors
    /// When the thread does not start.
    pub fn start(
        machine: &TestMachine,
        kubeconfig: &Path,
        policy: &Path,
        silence: Duration,
    ) -> Result<Self> {
        Self::start_with(Setup {
            node: machine.clone(),
            kubeconfig: kubeconfig.to_owned(),
            silence,
            policy: policy.to_owned(),
            store: machine.store(),
        })
    }

    /// Starts the real loop on any machine.
    ///
    /// # Errors
    /// When the thread does not start.
    pub fn start_with<H: NodeAccess>(setup: Setup<H>) -> Result<Self> {
        let (kill, killed) = oneshot::channel::<()>();
        let stop = Arc::new(Notify::new());
        let asked = Arc::clone(&stop);
        let (hears, heard) = watch::channel(false);
        let stops = async move || {
            asked.notified().await;
            hears.send_replace(true);
        };
        let thread = std::thread::Builder::new().spawn(move || live(setup, stops, killed))?;
        Ok(Self {
            stop,
            heard,
            kill: Some(kill),
            thread: Some(thread),
        })
    }

    /// Asks it to stop, as SIGTERM does.
    pub fn ask_to_stop(&self) {
        self.stop.notify_one();
    }

    /// Waits until it has begun to stop.
    pub async fn until_it_stops(&self) {
        let _ = self.heard.clone().wait_for(|heard| *heard).await;
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Kills it, as SIGKILL would: its work ends between two instructions.
    ///
    /// # Errors
    /// When it ended before the kill.
    pub fn kill(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        drop(self.kill.take());
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        thread.join().ok().context("the agent panicked")?
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// All its tasks run in its own runtime and end with it.
fn live<H: NodeAccess>(
    setup: Setup<H>,
    stops: impl AsyncFnMut(),
    killed: oneshot::Receiver<()>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            () = run(setup, stops) => {}
            _ = killed => {}
        }
    });
    Ok(())
}
