//! The DaemonSet as an operator handles it: its image in a registry, the shipped manifests, `kubectl`.

use std::fs;

use anyhow::{Result, ensure};
use tokio::process::Command;
use upgrade::names;

use crate::images::installer;
use crate::programs;
use crate::registry::Registry;
use crate::rig::Rig;

/// The agent that runs, by where its program lies. It has mounts of its own, so the path may begin at the mount that it lies on.
const AGENT: &str = "readlink /proc/$(systemctl show --value -p MainPID careen-agent)/exe";

/// A registry that the node's containerd pulls the DaemonSet's images from.
#[derive(Debug)]
pub struct DaemonSet {
    registry: Registry,
}

impl DaemonSet {
    /// Starts the registry, and pushes these versions of the image. They differ in their number alone.
    ///
    /// # Errors
    /// When something does not build, start or answer.
    pub async fn offered(rig: &mut Rig, versions: &[&str]) -> Result<Self> {
        let registry = Registry::start(&rig.dir().join("registry")).await?;
        registry.introduce_to(&mut rig.guest).await?;
        for version in versions {
            rig.progress
                .step(&format!("pushing version {version} of the DaemonSet"));
            let archive = installer(version)?;
            registry.push_archive(&archive, &name(version)).await?;
        }
        Ok(Self { registry })
    }

    /// Applies one of the manifests that we ship, with this version's image. Gives what kubectl says.
    ///
    /// # Errors
    /// When the manifest cannot be read or the API server refuses.
    pub async fn apply(&self, rig: &Rig, manifest: &str, version: &str) -> Result<String> {
        let shipped = programs::home().join(format!("../packaging/daemonset/{manifest}.yaml"));
        let image = format!("{}/{}", self.registry.seen_from_guest(), name(version));
        let text = fs::read_to_string(shipped)?.replace("IMAGE", &image);
        let file = rig.dir().join(format!("{manifest}-{version}.yaml"));
        fs::write(&file, text)?;
        kubectl(rig, &["apply", "--filename", &file.display().to_string()]).await
    }
}

/// Behind the registry's name.
fn name(version: &str) -> String {
    format!("careen-installer:{version}")
}

/// Waits until every pod is ready, which it is when its agent has run for a minute. Gives what kubectl says.
///
/// # Errors
/// When that does not happen within ten minutes.
pub async fn rolled_out(rig: &Rig) -> Result<String> {
    let status = [
        "rollout",
        "status",
        "daemonset/careen",
        "--namespace",
        "careen",
        "--timeout",
        "10m",
    ];
    kubectl(rig, &status).await
}

/// Where the agent that runs on the node lies.
///
/// # Errors
/// When the guest does not answer.
pub async fn agent(rig: &mut Rig) -> Result<String> {
    rig.guest.run(AGENT).await
}

/// The agent that runs is the one that the DaemonSet of this version has brought.
///
/// # Errors
/// When it is another one.
pub async fn expect_agent(rig: &mut Rig, version: &str) -> Result<()> {
    let agent = agent(rig).await?;
    let below_var = names::AGENTS_DIR.trim_start_matches("/var");
    ensure!(
        agent.contains(&format!("{below_var}/{version}-")),
        "{agent} runs, not {version}"
    );
    Ok(())
}

/// Beside everything else: a roll-out takes minutes, in which the Node is watched and images are served.
async fn kubectl(rig: &Rig, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(rig.plane.program("kubectl"));
    command
        .arg("--kubeconfig")
        .arg(rig.plane.admin_kubeconfig());
    let output = command.args(arguments).output().await?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "kubectl {}: {complaint}",
        arguments.join(" ")
    );
    Ok(String::from_utf8(output.stdout)?)
}
