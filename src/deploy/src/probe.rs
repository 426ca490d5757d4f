//! Asks the container runtime for a pod sandbox, or which pods run. This needs no sysroot. It is
//! here because the agent is always in memory, and this program is not.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use cri::{Outcome, RunningPod, probe, running_pods};
use tokio::runtime::Builder;

use crate::args::Probe;

/// Starts a sandbox and removes it.
pub fn run(wanted: &Probe) -> ExitCode {
    let outcome = match Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime.block_on(probe(&wanted.socket, wanted.network, Path::new("/"))),
        Err(error) => Outcome::Unknown(error.to_string()),
    };
    let (code, why) = outcome.told();
    if !why.is_empty() {
        eprintln!("{why}");
    }
    ExitCode::from(code)
}

/// Prints the pods whose containers run, one a line.
pub fn running(socket: &Path) -> ExitCode {
    let asked = Builder::new_current_thread().enable_io().build();
    let asked = asked.map_err(|error| error.to_string());
    let found = asked.and_then(|runtime| {
        let found = runtime.block_on(running_pods(socket));
        found.map_err(|error| format!("{}: {error}", socket.display()))
    });
    match found.and_then(|pods| print(&pods).map_err(|error| error.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn print(pods: &[RunningPod]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for pod in pods {
        writeln!(out, "{pod}")?;
    }
    out.flush()
}
