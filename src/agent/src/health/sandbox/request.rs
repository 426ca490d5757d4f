//! One try: a process that asks the runtime.

use std::path::PathBuf;
use std::time::Duration;

use cri::Outcome;
use host::programs::{of_careen, shown};
use tokio::process::Command;
use upgrade::serving::Serving;

use super::super::output::{self, Run, late};
use super::super::runtime::SOCKET;
use crate::executables;

/// A registry that is away for a moment, or a runtime that restarts, refuses a sandbox for seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time limit of a try that shows only whether the network plugins run. A plugin may wait long
/// for the API server or for the pod that the sandbox does not have.
const PLUGINS: Duration = Duration::from_secs(60);

/// What the network of a sandbox must be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing: the sandbox has the node's own.
    Nothing,
    /// The programs of its plugins run. They may refuse: some ask the API server for the pod, which
    /// a sandbox does not have.
    Plugins,
    /// It gives an address.
    Address,
}

impl Wanted {
    /// What the old system has shown that it can do.
    #[must_use]
    pub fn of(served: &Serving) -> Self {
        match &served.network_refusal {
            _ if served.pod_network => Self::Address,
            Some(refusal) if !cri::lacks_a_plugin(refusal) => Self::Plugins,
            Some(_) | None => Self::Nothing,
        }
    }
}

/// What is asked of the runtime.
#[derive(Clone, Debug)]
pub struct SandboxRequest {
    /// The program that asks: careen-deploy. Only a trial needs what it speaks with the runtime.
    pub program: PathBuf,
    /// The runtime's socket.
    pub socket: PathBuf,
    /// What its network must be able to do.
    pub network: Wanted,
    /// For how long after the first refusal the runtime is asked again before that counts.
    pub patience: Duration,
}

impl SandboxRequest {
    /// Asks the runtime of this node, through careen-deploy.
    #[must_use]
    pub fn of_this_node(network: Wanted) -> Self {
        Self {
            program: executables::deploy(),
            socket: SOCKET.into(),
            network,
            patience: PATIENCE,
        }
    }

    /// Asks once, within the time limit.
    pub async fn once(&self, limit: Duration) -> Outcome {
        match self.network {
            Wanted::Nothing => self.run(limit, false).await,
            Wanted::Address => self.run(limit, true).await,
            Wanted::Plugins => match self.run(limit, false).await {
                Outcome::Starts => self.plugins(limit.min(PLUGINS)).await,
                other @ (Outcome::WithoutNetwork(_) | Outcome::No(_) | Outcome::Unknown(_)) => {
                    other
                }
            },
        }
    }

    /// Of a sandbox that starts: whether its plugins run, as far as the runtime says so.
    async fn plugins(&self, limit: Duration) -> Outcome {
        match self.run(limit, true).await {
            Outcome::WithoutNetwork(why) if cri::lacks_a_plugin(&why) => {
                Outcome::WithoutNetwork(why)
            }
            Outcome::Starts | Outcome::WithoutNetwork(_) | Outcome::No(_) | Outcome::Unknown(_) => {
                Outcome::Starts
            }
        }
    }

    async fn run(&self, limit: Duration, network: bool) -> Outcome {
        let mut command = Command::from(of_careen(&self.program));
        command.arg("probe-sandbox");
        command.arg("--socket").arg(&self.socket);
        if network {
            command.arg("--network");
        }
        match output::within(limit, &mut command).await {
            Run::Ended(said) => {
                let (code, why) = (said.output.status.code(), said_why(&said.output.stderr));
                let outcome = code.and_then(|code| Outcome::from_code(code, why));
                outcome.unwrap_or_else(|| Outcome::Unknown(said.why()))
            }
            Run::Not(error) => Outcome::Unknown(format!("cannot run the probe: {error}")),
            // The runtime took the request, and answers to nobody in that time.
            Run::Late(_) => Outcome::No(format!("the runtime gave {}", late(limit.as_secs(), 0))),
        }
    }
}

fn said_why(stderr: &[u8]) -> String {
    shown(&String::from_utf8_lossy(stderr))
}
