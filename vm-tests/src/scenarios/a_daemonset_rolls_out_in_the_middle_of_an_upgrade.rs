//! A DaemonSet brings a newer agent to a node, that agent upgrades the node, and the DaemonSet's own roll-out in the middle of it waits
//! until it has ended. Then an uninstall leaves the image's agent.

use tokio::process::Command;

use super::prelude::*;
use crate::control_plane::HOST_SEEN_FROM_GUEST;
use crate::images::{installer, installer_name};
use crate::programs;
use crate::repo_server::RepoServer;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-rolls-out-in-the-middle-of-an-upgrade",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Both newer than the agents of the node's images, which are of Cargo's version.
const FIRST: &str = "0.1.98";
const SECOND: &str = "0.1.99";

/// The agent that runs, by where its program lies.
const AGENT: &str = "readlink /proc/$(systemctl show --value -p MainPID careen-agent)/exe";

/// The first agent that was launched in this boot.
const FIRST_OF_THE_BOOT: &str =
    "journalctl --boot --unit careen-agent --output cat --grep '^running ' | head -n 1";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    for version in [FIRST, SECOND] {
        import(rig, version).await?;
    }
    let before = rig.before().await?;

    rig.progress.step("the DaemonSet comes");
    apply(rig, "install", FIRST).await?;
    rolled_out(rig).await?;
    expect_agent(rig, FIRST).await?;
    rig.progress.step("its pod shows the agent's log");
    rig.wait_guest("until grep -qs 'watching Node' /var/log/pods/careen_careen-*/installer/*.log; do sleep 1; done")
        .await?;

    rig.ask(&image).await?;
    rig.wait_phase("Fetched", UPGRADE).await?;
    rig.progress.step("the DaemonSet rolls out another version");
    apply(rig, "install", SECOND).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    let first = rig.guest.run(FIRST_OF_THE_BOOT).await?;
    ensure!(
        first.contains(FIRST),
        "the trial was begun by another agent than it was armed by: {first}"
    );

    rig.progress
        .step("now that it has ended the roll-out goes on");
    rolled_out(rig).await?;
    expect_agent(rig, SECOND).await?;

    rig.progress.step("uninstall");
    apply(rig, "uninstall", SECOND).await?;
    rolled_out(rig).await?;
    let left = "ls -d /var/lib/careen/agents /etc/careen/units /etc/systemd/system-generators/careen 2>/dev/null || :";
    let left = rig.guest.run(left).await?;
    ensure!(left.is_empty(), "the uninstall has left {left}");
    let agent = rig.guest.run(AGENT).await?;
    ensure!(
        agent == "/usr/libexec/careen/careen-agent",
        "after the uninstall {agent} runs"
    );
    Ok(())
}

/// Gives the node's containerd an image of the DaemonSet.
async fn import(rig: &mut Rig, version: &str) -> Result<()> {
    let archive = installer(version)?;
    let folder = archive.parent().unwrap_or(&archive);
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let server = RepoServer::start(folder).await?;
    rig.progress
        .step(&format!("containerd imports {}", installer_name(version)));
    let url = format!("http://{HOST_SEEN_FROM_GUEST}:{}/{name}", server.port());
    let script = format!("curl --silent --fail {url} | ctr -n k8s.io images import -");
    rig.wait_guest(&script).await
}

/// Applies one of the manifests that we ship, with this version's image.
async fn apply(rig: &Rig, manifest: &str, version: &str) -> Result<()> {
    let shipped = programs::home().join(format!("../packaging/daemonset/{manifest}.yaml"));
    let text = std::fs::read_to_string(shipped)?.replace("IMAGE", &installer_name(version));
    let file = rig.dir().join(format!("{manifest}-{version}.yaml"));
    std::fs::write(&file, text)?;
    let apply = ["apply", "--filename", &file.display().to_string()];
    kubectl(rig, &apply).await
}

/// Waits until every pod is ready, which it is when its agent has run for a minute.
async fn rolled_out(rig: &Rig) -> Result<()> {
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

async fn kubectl(rig: &Rig, arguments: &[&str]) -> Result<()> {
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
    Ok(())
}

async fn expect_agent(rig: &mut Rig, version: &str) -> Result<()> {
    let agent = rig.guest.run(AGENT).await?;
    ensure!(
        agent.starts_with(&format!("{}/{version}-", names::AGENTS_DIR)),
        "{agent} runs, not {version}"
    );
    Ok(())
}
