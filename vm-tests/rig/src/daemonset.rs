//! The DaemonSet as an operator uses it: its image in a registry, the shipped manifests, `kubectl`.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testkit::programs;
use testkit::registry::Registry;
use tokio::process::Command;
use tokio::time::Instant;
use upgrade::names;

use crate::images::{PodAgent, installer};
use crate::rig::Rig;
use crate::rig::story::UPGRADE;
use crate::terminal::typed;

/// The running agent, by its program's path. It has its own mounts, so the path may begin at a
/// mount.
const AGENT: &str = "readlink /proc/$(systemctl show --value -p MainPID careen-agent)/exe";

/// The output of `kubectl logs`, with the command of docs/daemonset.md.
const LOG: &str = "kubectl -n careen logs \"$(kubectl -n careen get pods -l app.kubernetes.io/name=careen --field-selector spec.nodeName=node1 -o name)\"";

/// How often it tries. Sometimes the kubelet has just restored its own address on the Node.
const TRIES: u32 = 5;

/// The pods' output in the kubelet's files. The kubelet keeps them for a while after the pods are
/// gone, which `kubectl logs` cannot show. The API server also cannot reach the kubelet while the
/// node reboots in a rollout.
const LOGS: &str = "/var/log/pods/careen_careen-*/installer/*.log";

const PROCESS: &str =
    "systemctl is-active --quiet careen-agent && systemctl show --value -p MainPID careen-agent";

/// What a pod installs on the host.
const INSTALLED: [&str; 3] = [names::AGENTS_DIR, names::POD_UNITS, names::POD_GENERATOR];

/// A guest that shuts down does not answer, so one look is short.
const LOOK: Duration = Duration::from_secs(60);
const LOOKS: u32 = 10;

/// The image's name in the registry.
const NAME: &str = "careen-installer";

/// A registry that the node's containerd pulls the DaemonSet's images from.
#[derive(Debug)]
pub struct DaemonSet {
    registry: Registry,
    /// The digest of each pushed version.
    digests: BTreeMap<String, String>,
}

impl DaemonSet {
    /// Starts the registry and pushes these versions of the image. They differ only in the version
    /// number.
    ///
    /// # Errors
    ///
    /// Fails when a part does not build, start or answer.
    pub async fn offered(rig: &mut Rig, versions: &[&str]) -> Result<Self> {
        let registry = Registry::start(&rig.dir().join("registry")).await?;
        rig.guest.run(&registry.introduction()).await?;
        let mut this = Self {
            registry,
            digests: BTreeMap::new(),
        };
        for version in versions {
            this.push(rig, version, PodAgent::Ours).await?;
        }
        Ok(this)
    }

    /// Pushes an image whose agent always ends with an error.
    ///
    /// # Errors
    ///
    /// Fails when a part does not build or answer.
    pub async fn offer_broken(&mut self, rig: &Rig, version: &str) -> Result<()> {
        self.push(rig, version, PodAgent::Broken).await
    }

    async fn push(&mut self, rig: &Rig, version: &str, agent: PodAgent) -> Result<()> {
        rig.progress
            .step(&format!("pushing version {version} of the DaemonSet"));
        let archive = installer(version, agent)?;
        let name = format!("{NAME}:{version}");
        let digest = self.registry.push_archive(&archive, &name).await?;
        self.digests.insert(version.to_owned(), digest);
        Ok(())
    }

    /// This version's image by its digest.
    ///
    /// # Errors
    ///
    /// Fails when it was not pushed.
    pub fn image(&self, version: &str) -> Result<String> {
        let digest = self.digests.get(version);
        let digest = digest.with_context(|| format!("version {version} was not pushed"))?;
        let registry = self.registry.seen_from_guest();
        Ok(format!("{registry}/{NAME}@{digest}"))
    }

    /// Applies a shipped manifest with this version's image. Returns kubectl's output.
    ///
    /// # Errors
    ///
    /// Fails when the manifest cannot be read or the API server refuses.
    pub async fn apply(&self, rig: &Rig, manifest: &str, version: &str) -> Result<String> {
        let shipped = programs::home().join(format!("../packaging/daemonset/{manifest}.yaml"));
        let image = self.image(version)?;
        let text = fs::read_to_string(shipped)?.replace("IMAGE", &image);
        let file = rig.dir().join(format!("{manifest}-{version}.yaml"));
        fs::write(&file, text)?;
        kubectl(rig, &["apply", "--filename", &file.display().to_string()]).await
    }
}

/// Waits until every pod is ready, which takes until its agent has run for a minute. Returns
/// kubectl's output.
///
/// # Errors
///
/// Fails when that does not happen within ten minutes.
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

/// Deletes only the DaemonSet, and waits until its pods are gone.
///
/// # Errors
///
/// Fails when they do not go, or the API server refuses.
pub async fn delete(rig: &Rig) -> Result<()> {
    let delete = [
        "delete",
        "daemonset/careen",
        "--namespace",
        "careen",
        "--cascade=foreground",
        "--timeout",
        "10m",
    ];
    kubectl(rig, &delete).await?;
    let list = ["get", "pods", "--namespace", "careen", "--output", "name"];
    let left = kubectl(rig, &list).await?;
    ensure!(left.is_empty(), "the DaemonSet is gone, and left {left}");
    Ok(())
}

/// The output of `kubectl logs` for its pod on the node.
///
/// # Errors
///
/// Fails when it shows nothing.
pub async fn log(rig: &mut Rig) -> Result<String> {
    let kubelet = rig.lead_to_kubelet().await?;
    let mut tries = 0;
    loop {
        tries += 1;
        rig.show_kubelet_at(kubelet).await?;
        match typed(rig, LOG).await {
            Err(error) if tries < TRIES => rig.progress.step(&format!("once more: {error:#}")),
            last => return last,
        }
    }
}

/// Waits until a pod has logged this.
///
/// # Errors
///
/// Fails when none does within the time of an upgrade.
pub async fn said(rig: &mut Rig, text: &str) -> Result<()> {
    rig.progress.step(&format!("its pod says {text:?}"));
    rig.wait_guest(&format!(
        "until grep -qsF '{text}' {LOGS}; do sleep 1; done"
    ))
    .await
}

/// Like [`said`], but the node may reboot meanwhile: the kubelet's files outlast that.
///
/// # Errors
///
/// Fails when none does within the time of an upgrade.
pub async fn said_in_any_boot(rig: &mut Rig, text: &str) -> Result<()> {
    rig.progress.step(&format!("its pod says {text:?}"));
    let look = format!(
        "n=0; until grep -qsF '{text}' {LOGS}; do n=$((n + 1)); [ $n -lt {LOOKS} ] || exit 1; sleep 1; done"
    );
    let deadline = Instant::now() + UPGRADE;
    while !matches!(rig.guest.try_run(&look, LOOK).await, Ok(output) if output.code == 0) {
        ensure!(
            Instant::now() < deadline,
            "no pod has said {text:?} within {UPGRADE:?}"
        );
    }
    Ok(())
}

/// Checks that no pod counts as ready, so that the rollout stops.
///
/// # Errors
///
/// Fails when one does, or there is none.
pub async fn expect_not_ready(rig: &Rig) -> Result<()> {
    let path = "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}";
    let list = ["get", "pods", "--namespace", "careen", "--output", path];
    let ready = kubectl(rig, &list).await?;
    ensure!(ready == "False", "of its pods, ready are {ready:?}");
    Ok(())
}

/// Checks that everything that a pod installs on the host is there.
///
/// # Errors
///
/// Fails when some of it is not.
pub async fn expect_installed(rig: &mut Rig) -> Result<()> {
    let list = format!("ls -d {}", INSTALLED.join(" "));
    rig.guest.run(&list).await.map(drop)
}

/// Checks that nothing that a pod installed is left and that the image's agent serves.
///
/// # Errors
///
/// Fails when either check fails.
pub async fn expect_removed(rig: &mut Rig) -> Result<()> {
    let list = format!("ls -d {} 2>/dev/null || :", INSTALLED.join(" "));
    let left = rig.guest.run(&list).await?;
    ensure!(left.is_empty(), "the uninstall has left {left}");
    let agent = agent(rig).await?;
    ensure!(
        agent.ends_with("/libexec/careen/careen-agent"),
        "after the uninstall {agent} runs"
    );
    Ok(())
}

/// Waits until the running agent is the one of this version. Between two starts no agent runs.
///
/// # Errors
///
/// Fails when it does not within the time of an upgrade.
pub async fn agent_is_back(rig: &mut Rig, version: &str) -> Result<()> {
    rig.wait_guest(&format!(
        "until {AGENT} | grep -q '/{version}-'; do sleep 1; done"
    ))
    .await
}

/// The process of the agent's service, which changes at every start.
///
/// # Errors
///
/// Fails when the guest does not answer, or it does not run.
pub async fn process(rig: &mut Rig) -> Result<String> {
    rig.guest.run(PROCESS).await
}

/// The path of the running agent.
///
/// # Errors
///
/// Fails when the guest does not answer.
pub async fn agent(rig: &mut Rig) -> Result<String> {
    rig.guest.run(AGENT).await
}

/// Checks that the running agent is this version's, from the DaemonSet.
///
/// # Errors
///
/// Fails when it is another one.
pub async fn expect_agent(rig: &mut Rig, version: &str) -> Result<()> {
    let agent = agent(rig).await?;
    let below_var = names::AGENTS_DIR.trim_start_matches("/var");
    ensure!(
        agent.contains(&format!("{below_var}/{version}-")),
        "{agent} runs, not {version}"
    );
    Ok(())
}

/// Runs asynchronously: a rollout takes minutes, in which the rig watches the Node and serves
/// images.
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
