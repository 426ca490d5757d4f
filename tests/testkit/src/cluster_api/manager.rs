//! One manager: its program and its command line.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::version::Version;
use crate::control_plane::ControlPlane;
use crate::programs;

/// A manager of Cluster API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// Cluster, MachineDeployment, MachineSet, Machine, ExtensionConfig; calls `UpdateMachine` and
    /// `CanUpdateMachineSet`.
    Core,
    /// KubeadmConfig: makes the bootstrap data.
    Bootstrap,
    /// KubeadmControlPlane; calls `CanUpdateMachine`.
    ControlPlane,
}

impl Manager {
    /// The managers that every test needs.
    pub const ALL: [Self; 3] = [Self::Core, Self::Bootstrap, Self::ControlPlane];

    /// Its name in the cache, in log files and in webhook configurations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Bootstrap => "bootstrap",
            Self::ControlPlane => "control-plane",
        }
    }

    /// The folder with `program`, `crd/` and `webhook.yaml`, built on first use (minutes).
    ///
    /// # Errors
    ///
    /// Fails when the build fails. Its own output is on standard error.
    pub fn built(self, version: Version) -> Result<PathBuf> {
        let script = programs::home().join("cluster-api/build.sh");
        let output = Command::new(&script)
            .args([version.as_str(), self.name()])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", script.display()))?;
        ensure!(
            output.status.success(),
            "{} {} {}: {}",
            script.display(),
            version.as_str(),
            self.name(),
            output.status
        );
        Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
    }

    /// Its command line.
    pub(super) fn arguments(self, plane: &ControlPlane, ports: Ports) -> Vec<String> {
        let mut arguments = shared(plane, ports);
        arguments.extend(self.own().iter().map(ToString::to_string));
        arguments
    }

    /// Few workers. The default, a hundred at a time, overloads an API server on the same two cores
    /// with status patches (measured: 200 machines were never ready with the default, and after 45
    /// s with these).
    const fn own(self) -> &'static [&'static str] {
        match self {
            Self::Core => &[
                "--feature-gates=RuntimeSDK=true,InPlaceUpdates=true,ClusterTopology=true",
                "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
                "--machine-concurrency=10",
                "--machineset-concurrency=5",
                "--machinedeployment-concurrency=5",
                "--cluster-concurrency=5",
                "--clustercache-concurrency=5",
            ],
            Self::Bootstrap => &["--kubeadmconfig-concurrency=10"],
            Self::ControlPlane => &[
                "--feature-gates=InPlaceUpdates=true,ClusterTopology=true",
                "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
                "--kubeadmcontrolplane-concurrency=5",
            ],
        }
    }
}

/// The ports of one manager. They stay the same across restarts, because the webhook configurations
/// name them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub webhook: u16,
    pub health: u16,
    pub diagnostics: u16,
}

/// The API server's own certificate is also valid for 127.0.0.1, where the webhooks listen, and the
/// cluster's CA signed it.
fn shared(plane: &ControlPlane, ports: Ports) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", plane.admin_kubeconfig().display()),
        format!("--webhook-port={}", ports.webhook),
        format!("--webhook-cert-dir={}", plane.dir().join("pki").display()),
        "--webhook-cert-name=apiserver.crt".into(),
        "--webhook-key-name=apiserver.key".into(),
        format!("--health-addr=127.0.0.1:{}", ports.health),
        format!("--diagnostics-address=127.0.0.1:{}", ports.diagnostics),
        "--insecure-diagnostics".into(),
    ]
}
