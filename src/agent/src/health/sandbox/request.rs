//! One try: a process that asks the runtime.

use std::path::PathBuf;
use std::time::Duration;

use cri::Outcome;
use host::programs::{of_careen, shown};
use tokio::process::Command;

use super::super::output::{self, Run, late};
use super::super::runtime::SOCKET;
use crate::executables;

/// A registry that is away for a moment, or a runtime that restarts, refuses a sandbox for seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked of the runtime.
#[derive(Clone, Debug)]
pub struct SandboxRequest {
    /// The program that asks: careen-deploy. Only a trial needs what it speaks with the runtime.
    pub program: PathBuf,
    /// The runtime's socket.
    pub socket: PathBuf,
    /// Whether a sandbox must get an address. False if the old system could not give one to a
    /// sandbox without a pod: some network plugins ask the API server for the pod.
    pub network: bool,
    /// For how long after the first refusal the runtime is asked again before that counts.
    pub patience: Duration,
}

impl SandboxRequest {
    /// Asks the runtime of this node, through careen-deploy.
    #[must_use]
    pub fn of_this_node(network: bool) -> Self {
        Self {
            program: executables::deploy(),
            socket: SOCKET.into(),
            network,
            patience: PATIENCE,
        }
    }

    /// Asks once, within the time limit.
    pub async fn once(&self, limit: Duration) -> Outcome {
        let mut command = Command::from(of_careen(&self.program));
        command.arg("probe-sandbox");
        command.arg("--socket").arg(&self.socket);
        if self.network {
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
