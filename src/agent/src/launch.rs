//! `careen-agent launch`: becomes the newest agent of this node that can be trusted to run. If
//! something cannot be determined or noted, the error is logged, and this agent still runs.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use host::agents::{Agents, Bundle};
use tracing::{info, warn};
use upgrade::{Release, release};

/// The verb, and the verb that replaces it when the chosen agent is called.
const VERB: &str = "launch";
const PLAIN_VERB: &str = "run";

/// The agent to become, or `None` if that is this one, which is at `own`.
#[must_use]
pub fn other(agents: &Agents, own: &Path) -> Option<Bundle> {
    let pick = agents.pick(version_of_the_image(agents, own).as_ref());
    for error in &pick.damage {
        warn!("{error}");
    }
    pick.bundle
}

/// The version of this program, unless a pod installed it. Such a program launches where the image
/// has no agent.
fn version_of_the_image(agents: &Agents, own: &Path) -> Option<Release> {
    if own.starts_with(agents.folder()) {
        return None;
    }
    release::THIS.parse().ok()
}

/// Notes that this program, which is at `own`, has lasted. Does nothing if no pod installed it.
pub fn lasted(agents: &Agents, own: &Path) {
    let id = own.strip_prefix(agents.folder()).ok().and_then(|below| {
        let folder = below.parent()?.to_str()?;
        folder.parse().ok()
    });
    if let Some(Err(error)) = id.map(|id| agents.lasted(&id)) {
        warn!("cannot note that this agent runs: {error}");
    }
}

/// Becomes that agent, with the arguments of this one. The process stays the same, so systemd's
/// watchdog and notifications continue to work. Returns only if this fails.
///
/// # Errors
/// The error of the system call.
pub fn become_it(
    bundle: &Bundle,
    arguments: impl Iterator<Item = OsString>,
) -> Result<Infallible, io::Error> {
    info!("running {} of {}", bundle.release, bundle.folder.display());
    let plain = |argument| match argument == VERB {
        true => OsString::from(PLAIN_VERB),
        false => argument,
    };
    let program = bundle.program("careen-agent");
    #[expect(
        clippy::disallowed_methods,
        reason = "an agent of ours, by its whole path; it goes on as this process, in its environment"
    )]
    let mut command = Command::new(program);
    Err(command.args(arguments.map(plain)).exec())
}

/// Notes that this agent, which is at `own`, runs in place of one that failed to execute. The
/// health check of the other agent must not mistake this one for it.
pub fn stay(agents: &Agents, bundle: &Bundle, own: &Path, why: &io::Error) {
    warn!("cannot run {}: {why}", bundle.folder.display());
    if let Err(error) = agents.could_not_run(bundle, own, release::THIS) {
        warn!("{error}");
    }
}
