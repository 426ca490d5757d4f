//! The folder that holds a cluster: its ports, its kubeconfigs, and kubeadm run on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::ports::Ports;
use crate::programs;

/// The address at which QEMU's user network shows the host's loopback to the guest.
pub const HOST_SEEN_FROM_GUEST: &str = "10.0.2.2";

/// The files of a cluster and the programs of its version.
#[derive(Debug)]
pub(super) struct Folder {
    pub dir: PathBuf,
    pub ports: Ports,
    bin: PathBuf,
}

impl Folder {
    /// The folder of a new cluster or of a stopped one.
    pub fn of(dir: PathBuf) -> Result<Self> {
        let bin = programs::kubernetes(programs::CONTROL_PLANE)?;
        let ports = Ports::of(&dir)?;
        Ok(Self { dir, ports, bin })
    }

    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    pub fn kubeadm(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(self.program("kubeadm"))
            .args(arguments)
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "kubeadm {}: {}\n{complaint}",
            arguments.join(" "),
            output.status
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.dir.join("kubeconfigs").join(format!("{user}.conf"))
    }
}

/// Whether another program listens on the port that a stopped cluster needs for its API server.
///
/// # Errors
///
/// Fails when the folder holds no cluster.
pub fn port_is_taken(dir: &Path) -> Result<bool> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", Ports::of(dir)?.api)).is_err())
}

/// Copies a stopped cluster; start it with [`super::ControlPlane::start`] on the copy.
///
/// # Errors
///
/// Fails when the target exists or the copy fails.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    ensure!(
        !to.exists(),
        "{} exists already; remove it to copy a cluster there",
        to.display()
    );
    let status = Command::new("cp")
        .args(["-a", "--reflink=auto"])
        .arg(from)
        .arg(to)
        .status()?;
    ensure!(
        status.success(),
        "cannot copy {} to {}: {status}",
        from.display(),
        to.display()
    );
    fs::remove_dir_all(to.join("logs"))?;
    Ok(())
}
