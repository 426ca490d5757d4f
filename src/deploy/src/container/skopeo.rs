//! How careen-deploy calls skopeo: with which policy, settings and credentials, and as which user.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use host::programs::{self, Program};
use ostree_ext::container::store::ImageProxyConfig;
use upgrade::ContainerImage;
use upgrade::container::Transport;

use super::{apart, credentials, unpacked};
use crate::args::FetchImage;
use crate::process::RELAY_VARIABLE;
use crate::site::Site;

/// What skopeo is called with.
pub struct Skopeo {
    /// The containers-policy.json in force, when there is one.
    pub policy: Option<PathBuf>,
    /// The root of skopeo and its settings.
    settings: PathBuf,
    /// The folder into which it unpacks an archive.
    unpacked: Option<PathBuf>,
}

const POLICY: &str = "etc/containers/policy.json";
/// A home that does not exist: without one, skopeo looks up its user, which has no name.
const NO_HOME: &str = "/nonexistent";

impl Skopeo {
    /// For what is wanted.
    pub fn new(site: &Site, wanted: &FetchImage) -> Self {
        let policy = wanted.settings.join(POLICY);
        Self {
            policy: policy.exists().then_some(policy),
            settings: wanted.settings.clone(),
            unpacked: (wanted.image.transport == Transport::Archive)
                .then(|| unpacked::folder(site)),
        }
    }

    /// The same without a policy in force, to see whether the policy rejected the image. Fetches
    /// nothing.
    pub fn without_policy(&self) -> Self {
        Self {
            policy: None,
            settings: self.settings.clone(),
            unpacked: self.unpacked.clone(),
        }
    }

    /// The configuration for the library that drives skopeo.
    ///
    /// # Errors
    /// The credentials cannot be used, or skopeo cannot be separated. The message is for a person.
    pub fn config(&self) -> io::Result<ImageProxyConfig> {
        let credentials = credentials::open(&self.settings)?;
        let mut command = self.command()?;
        if apart::is_due() {
            apart::run_there(&mut command).map_err(not_apart)?;
        }
        Ok(ImageProxyConfig {
            auth_anonymous: credentials.is_none(),
            auth_data: credentials,
            skopeo_cmd: Some(command),
            ..ImageProxyConfig::default()
        })
    }

    /// Prints the manifest of an image as it is stored.
    ///
    /// # Errors
    /// As [`Self::config`].
    pub fn inspect(&self, reference: &str) -> io::Result<Command> {
        let credentials = credentials::open(&self.settings)?;
        let mut command = self.command()?;
        if apart::is_due() {
            apart::run_there(&mut command).map_err(not_apart)?;
        }
        command.args(["inspect", "--raw"]);
        match credentials {
            // As the library does for its proxy, because skopeo cannot open root's file.
            Some(file) => command
                .args(["--authfile", "/proc/self/fd/0"])
                .stdin(credentials::copy(file)?),
            None => command.arg("--no-creds").stdin(Stdio::null()),
        };
        command.arg(reference);
        Ok(command)
    }

    /// The credentials that were sent to a registry, for its error message.
    pub fn asked(&self) -> String {
        credentials::asked(&self.settings)
    }

    fn command(&self) -> io::Result<Command> {
        let skopeo = Program::Skopeo.below(&self.settings)?;
        let mut command = Program::Setpriv.command()?;
        // skopeo inherits the blocked signals. Only this one reaches it when careen-deploy is gone.
        command.args(["--pdeathsig", "KILL"]);
        if apart::is_due() {
            command.arg("--no-new-privs").env("HOME", NO_HOME);
        }
        command.arg("--").arg(skopeo);
        match &self.policy {
            Some(path) => command.arg("--policy").arg(path),
            None => command.arg("--insecure-policy"),
        };
        if self.settings != Path::new("/") {
            let containers = self.settings.join("etc/containers");
            command
                .arg("--registries-conf")
                .arg(containers.join("registries.conf"));
            command
                .arg("--registries.d")
                .arg(containers.join("registries.d"));
        }
        if let Some(folder) = &self.unpacked {
            command.arg("--tmpdir").arg(folder);
        }
        through_relay(&mut command);
        Ok(command)
    }
}

/// The path of the node's skopeo, for display.
pub fn program(settings: &Path) -> PathBuf {
    let found = Program::Skopeo.below(settings);
    found.unwrap_or_else(|_| PathBuf::from("skopeo"))
}

fn not_apart(error: io::Error) -> io::Error {
    io::Error::other(format!(
        "cannot isolate skopeo from other processes: {error}; this needs user namespaces: set the sysctl user.max_user_namespaces to more than 0"
    ))
}

/// The relay that caps bandwidth is told to libostree in curl's words. Go resolves names at the
/// proxy by itself, and takes the one for https from a variable of its own.
fn through_relay(command: &mut Command) {
    let relay = std::env::var(RELAY_VARIABLE).unwrap_or_default();
    if let Some(address) = relay.strip_prefix("socks5h://") {
        let relay = format!("socks5://{address}");
        command.env("http_proxy", &relay).env("https_proxy", &relay);
    }
}

/// The first version, major and minor, whose proxy obeys containers-policy.json, and distinguishes
/// an absent image from an unreachable registry (containers/skopeo, cmd/skopeo/proxy.go, protocol
/// 0.2.6).
const OLDEST: (u32, u32) = (1, 13);

/// Checks the version of the node's skopeo.
///
/// # Errors
/// There is none, it fails, or it is too old. The message is for a person.
pub fn check_version(settings: &Path) -> io::Result<()> {
    let mut skopeo = Program::Skopeo.command_below(settings)?;
    let output = skopeo.arg("--version").output();
    let program = Path::new(skopeo.get_program());
    let output = output
        .map_err(|error| io::Error::other(format!("cannot run {}: {error}", program.display())))?;
    if !output.status.success() {
        let ended = programs::ended(program, output.status, &output.stderr);
        return Err(io::Error::other(ended));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    if version(&said).is_some_and(|found| found >= OLDEST) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} --version says {:?}; use {}.{} or later: older versions accept what /etc/containers/policy.json forbids",
        program.display(),
        said.trim(),
        OLDEST.0,
        OLDEST.1
    )))
}

/// The image in skopeo's syntax. skopeo verifies the digest of a registry's answer; for an archive
/// it has none.
pub fn reference(image: &ContainerImage) -> String {
    match image.transport {
        Transport::Registry => image.to_string(),
        Transport::Archive | Transport::Folder => image.address(),
    }
}

/// From `skopeo version 1.18.0`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_whitespace().nth(2)?.split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn the_version_is_read_as_skopeo_says_it() {
        assert_eq!(version("skopeo version 1.18.0\n"), Some((1, 18)));
        assert_eq!(
            version("skopeo version 1.22.0-dev commit: 1a2b"),
            Some((1, 22))
        );
        assert_eq!(version("skopeo"), None);
    }
}
