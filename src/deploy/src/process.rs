//! The setup that needs a process with a single thread: signals, environment, mounts.

use std::path::{Path, PathBuf};

use host::{mounts, programs};
use nix::sys::signal::{SigSet, Signal};
use upgrade::{Reason, names};

use crate::args::{Cli, Verb};
use crate::relay::Relay;

/// The name of Careen's generator of grub.cfg, wherever it is.
const GENERATOR_NAME: &str = "careen-grub";
/// The variable that tells libostree's fetcher its proxy.
pub const RELAY_VARIABLE: &str = "http_proxy";
/// The variables from which libostree, curl and skopeo take a proxy (curl(1), ENVIRONMENT; Go's
/// net/http, `ProxyFromEnvironment`). The relay would replace such a proxy silently.
const PROXY_VARIABLES: [&str; 6] = [
    RELAY_VARIABLE,
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];
/// The variables from which curl takes the hosts that it reaches without a proxy.
const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// What `prepare` has set up.
pub struct Prepared {
    /// Whether /sysroot and /boot are writable in a private mount namespace.
    pub private_mounts: bool,
}

/// Signals that ask the process to end. They are blocked in every thread and child, so that a
/// deployment finishes first, including its generator.
pub fn stop_signals() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGTERM);
    set.add(Signal::SIGINT);
    set.add(Signal::SIGHUP);
    set
}

/// Does all of the setup. Call it first, before any thread exists: `unshare` affects only one
/// thread.
///
/// # Errors
/// The mounts or the bandwidth relay cannot be set up.
pub fn prepare(cli: &Cli) -> Result<Prepared, Reason> {
    let verb = cli.verb.name();
    let failed = |detail: String| Reason::DeployFailed {
        verb: verb.to_owned(),
        detail,
    };
    stop_signals()
        .thread_block()
        .map_err(|errno| failed(format!("cannot block signals: {errno}")))?;
    settle_environment();
    if std::env::var_os(names::GENERATOR_VARIABLE).is_none()
        && let Some(generator) = generator()
    {
        set_variable(names::GENERATOR_VARIABLE, Some(&generator));
    }
    let private_mounts = cli.sysroot == Path::new("/") && !matches!(cli.verb, Verb::Status);
    if private_mounts {
        private_namespace().map_err(|error| failed(error.to_string()))?;
    }
    if let Some(rate) = cli.verb.bandwidth() {
        cap(rate).map_err(failed)?.serve();
    }
    Ok(Prepared { private_mounts })
}

/// libostree and its libraries start programs by name (gpg, grub-mkconfig). Those must be the
/// image's.
fn settle_environment() {
    let misleading = std::env::vars_os().map(|(name, _)| name);
    let misleading: Vec<_> = misleading.filter(|name| programs::misleads(name)).collect();
    for name in misleading.iter().filter_map(|name| name.to_str()) {
        set_variable(name, None);
    }
    set_variable("PATH", Some(programs::PATH));
}

/// Careen's generator: the image's, or if the image has none, the one that a pod installed with
/// this program.
fn generator() -> Option<String> {
    let own = std::env::current_exe().ok();
    let installed = own
        .filter(|own| own.starts_with(names::AGENTS_DIR))
        .map(|own| own.with_file_name(GENERATOR_NAME));
    let mut places = [Some(PathBuf::from(names::GENERATOR)), installed]
        .into_iter()
        .flatten();
    let there = places.find(|place| place.exists())?;
    Some(there.display().to_string())
}

/// The relay that keeps a pull below this many bytes per second, and an environment in which no
/// pull bypasses it.
fn cap(rate: u64) -> Result<Relay, String> {
    let proxy = PROXY_VARIABLES
        .into_iter()
        .find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if let Some(name) = proxy {
        // The value may hold a password, and the Node shows this text to every reader.
        return Err(format!(
            "{name} is set in the environment, and --bandwidth is {rate}: bandwidth cannot be limited through a proxy; remove one of the two"
        ));
    }
    let relay = Relay::bind(rate).map_err(|error| format!("bandwidth relay: {error}"))?;
    // libostree's fetcher takes its proxy from this variable (ostree-fetcher-curl.c).
    set_variable(RELAY_VARIABLE, Some(&relay.url()));
    // curl uses no proxy for the hosts named here.
    for name in EXCEPTIONS {
        set_variable(name, None);
    }
    Ok(relay)
}

/// Whether libostree will run Careen's generator of grub.cfg. Call it after [`prepare`].
pub fn generator_is_ours() -> bool {
    let program = std::env::var_os(names::GENERATOR_VARIABLE).unwrap_or_default();
    Path::new(&program).file_name() == Some(GENERATOR_NAME.as_ref())
}

/// /sysroot is read-only on a running system. Only this process may write it, so it gets its own
/// mounts.
fn private_namespace() -> host::Result<()> {
    mounts::make_private()?;
    ["/sysroot", "/boot"]
        .iter()
        .try_for_each(|place| mounts::make_writable(Path::new(place)))
}

#[allow(unsafe_code)]
fn set_variable(name: &str, value: Option<&str>) {
    // SAFETY: only `prepare` calls this, while no second thread exists that could read the
    // environment.
    unsafe {
        match value {
            Some(value) => std::env::set_var(name, value),
            None => std::env::remove_var(name),
        }
    }
}
