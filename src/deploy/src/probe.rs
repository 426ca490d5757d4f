//! Asks the container runtime for a pod sandbox. This needs no sysroot. It is here because the
//! agent is always in memory, and this program is not.

use std::path::Path;
use std::process::ExitCode;

use cri::{Outcome, probe};
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
