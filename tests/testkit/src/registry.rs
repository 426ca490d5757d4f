//! A container registry: Debian's docker-registry as a process on loopback, without TLS or
//! authentication. The guest reaches it as 10.0.2.2.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::cargo::careen_image;
use crate::control_plane::{HOST_SEEN_FROM_GUEST, ports};
use crate::process::{Process, tail};
use crate::programs;

/// How long it may take to listen. It takes a second on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A script with this name in the registry's folder, first in `careen-image`'s path. Configuration
/// says that such a registry has no TLS, and the rig does not change this machine's configuration.
const SKOPEO: &str = "skopeo";

/// A running registry. Dropping it ends it and removes its images.
#[derive(Debug)]
pub struct Registry {
    port: u16,
    dir: PathBuf,
    process: Process,
}

/// Fetches and builds what a registry needs, because a lane has no network.
///
/// # Errors
///
/// Fails when Debian's mirror does not answer, or careen-image does not compile.
pub fn prepare() -> Result<()> {
    tools()?;
    careen_image().map(drop)
}

/// The folder of skopeo and docker-registry.
fn tools() -> Result<PathBuf> {
    let script = programs::home().join("registry/tools.sh");
    let output = std::process::Command::new(&script)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(
        output.status.success(),
        "{}: {}",
        script.display(),
        output.status
    );
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

impl Registry {
    /// Starts an empty registry with its files in `dir`.
    ///
    /// # Errors
    ///
    /// Fails when it does not start or listen. The message has the end of its log.
    pub async fn start(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let [port] = ports::free()?;
        let this = Self {
            port,
            dir: dir.to_owned(),
            process: serving(dir, "plain", port, "").await?,
        };
        this.write_skopeo()?;
        Ok(this)
    }

    fn write_skopeo(&self) -> Result<()> {
        let settings = self.dir.join("registries.conf");
        fs::write(&settings, insecure(&self.here()))?;
        let script = format!(
            "#!/bin/sh\nexec '{}' --insecure-policy --registries-conf '{}' \"$@\"\n",
            tools()?.join(SKOPEO).display(),
            settings.display()
        );
        let path = self.dir.join(SKOPEO);
        fs::write(&path, script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// The folder of its files.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its address for programs on this machine.
    fn here(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its address for the node.
    #[must_use]
    pub fn seen_from_guest(&self) -> String {
        format!("{HOST_SEEN_FROM_GUEST}:{}", self.port)
    }

    /// Wraps a commit of an OSTree repository and pushes it under this tag. Returns the image to
    /// request.
    ///
    /// # Errors
    ///
    /// Fails when careen-image fails.
    pub async fn push_commit(&self, repository: &Path, commit: &str, tag: &str) -> Result<String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let destination = format!("docker://{}/os:{tag}", self.here());
        let mut command = Command::new(careen_image()?);
        command
            .env("PATH", format!("{}:{path}", self.dir.display()))
            .arg("--repo")
            .arg(repository)
            .args([commit, &destination]);
        let image = read(command).await?;
        Ok(image.replacen(&self.here(), &self.seen_from_guest(), 1))
    }

    /// Like [`Registry::push_commit`], with zstd layers and another name.
    ///
    /// # Errors
    ///
    /// Fails when careen-image or skopeo fails.
    pub async fn push_packed_by_zstd(
        &self,
        repository: &Path,
        commit: &str,
        tag: &str,
    ) -> Result<String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = format!("oci:{}", self.dir.join("packed").display());
        let mut command = Command::new(careen_image()?);
        command
            .env("PATH", format!("{}:{path}", self.dir.display()))
            .arg("--repo")
            .arg(repository)
            .args([commit, &folder]);
        read(command).await?;
        let digest = self.dir.join("digest");
        let name = format!("{tag}-zstd");
        let mut command = Command::new(self.dir.join(SKOPEO));
        command
            .args([
                "copy",
                "--quiet",
                "--dest-compress-format",
                "zstd",
                "--digestfile",
            ])
            .arg(&digest)
            .args([folder, format!("docker://{}/{name}", self.here())]);
        read(command).await?;
        let digest = fs::read_to_string(digest)?;
        let digest = digest.trim();
        Ok(format!(
            "docker://{}/{name}@{digest}",
            self.seen_from_guest()
        ))
    }

    /// Pushes the only image of an OCI archive under this name, with its tag. Returns its digest in
    /// the registry.
    ///
    /// # Errors
    ///
    /// Fails when skopeo fails.
    pub async fn push_archive(&self, archive: &Path, name: &str) -> Result<String> {
        let digest = self.dir.join("digest");
        let mut command = Command::new(self.dir.join(SKOPEO));
        command
            .args(["copy", "--quiet", "--digestfile"])
            .arg(&digest)
            .arg(format!("oci-archive:{}", archive.display()))
            .arg(format!("docker://{}/{name}", self.here()));
        read(command).await?;
        Ok(fs::read_to_string(digest)?.trim().to_owned())
    }

    /// The script that lets a node pull from it without TLS: the tools that read `/etc/containers`,
    /// and containerd.
    #[must_use]
    pub fn introduction(&self) -> String {
        let name = self.seen_from_guest();
        let pulls = format!("/etc/containerd/certs.d/{name}");
        let containers = insecure(&name);
        // containerd 1.7 rejects a file without a host in it.
        let containerd = format!(
            "server = \"http://{name}\"\n[host.\"http://{name}\"]\ncapabilities = [\"pull\", \"resolve\"]\n"
        );
        format!(
            "set -e\nmkdir -p /etc/containers/registries.conf.d {pulls}\n\
             cat >/etc/containers/registries.conf.d/rig.conf <<'END'\n{containers}END\n\
             cat >{pulls}/hosts.toml <<'END'\n{containerd}END\n"
        )
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.process.kill();
        // These are hundreds of megabytes that are in the rig's cache anyway. A leftover does no
        // harm.
        let _ = fs::remove_dir_all(store(&self.dir));
    }
}

/// A registry for the content of `dir`, under its own name there, with more server configuration.
pub(crate) async fn serving(dir: &Path, name: &str, port: u16, more: &str) -> Result<Process> {
    let (config, log) = (
        dir.join(format!("{name}.yml")),
        dir.join(format!("{name}.log")),
    );
    fs::write(&config, configuration(dir, port, more))?;
    let arguments = ["serve".to_owned(), config.display().to_string()];
    let mut process = Process::start(&tools()?.join("docker-registry"), &arguments, &log)?;
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        process.check()?;
        if begun.elapsed() > PATIENCE {
            bail!(
                "docker-registry does not listen after {PATIENCE:?}; the end of its log:\n{}",
                tail(&log)
            );
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(process)
}

fn store(dir: &Path) -> PathBuf {
    dir.join("store")
}

fn configuration(dir: &Path, port: u16, more: &str) -> String {
    format!(
        "version: 0.1\nlog: {{ level: error }}\nstorage: {{ filesystem: {{ rootdirectory: {} }} }}\nhttp: {{ addr: \"127.0.0.1:{port}\"{more} }}\n",
        store(dir).display()
    )
}

/// For containers-registries.conf(5).
fn insecure(name: &str) -> String {
    format!("[[registry]]\nlocation = \"{name}\"\ninsecure = true\n")
}

/// Runs a program that must succeed, and returns its output.
async fn read(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().await;
    let program = command.as_std().get_program().to_string_lossy();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{program}: {}: {complaint}",
        output.status
    );
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn registry_listens_while_held_and_leaves_no_pushed_images() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let registry = Registry::start(folder.path()).await?;
        let address = registry.here();
        TcpStream::connect(&address).await?;
        fs::create_dir_all(store(folder.path()))?;
        drop(registry);
        assert!(TcpStream::connect(&address).await.is_err());
        assert!(!store(folder.path()).exists());
        Ok(())
    }
}
