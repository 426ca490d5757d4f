//! Makes the node a control plane of its own: a cluster of one, by the node's own kubeadm, whose
//! static pods are far pods (see [`crate::far`]).

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use testkit::control_plane::{HOST_SEEN_FROM_GUEST, ports};
use testkit::programs;
use testkit::script::finish;
use tokio::time::sleep;

use super::{BOOT, GUEST, Rig};
use crate::far::{Far, Images, MINORS, Own};
use crate::node::{NAME, NodeWatch};
use crate::patience::within;
use crate::repo_server::RepoServer;
use crate::workload;

/// The servers of the guest that the far API server uses, and the rig's own way to the API server.
pub(super) const API_SERVER: u16 = 6443;
pub(super) const ETCD: u16 = 2379;
pub(super) const KUBELET: u16 = 10250;

pub(super) const SOON: Duration = Duration::from_secs(900);

/// The time of `kubeadm init`, and of the pods after a boot. Each program of the guest is emulated.
pub const SERVES: Duration = Duration::from_secs(1800);

const LOOK: Duration = Duration::from_secs(2);

/// The doctor shares the folder of a control plane, so the node looks like one meanwhile. systemd
/// may answer later than the doctor waits where others use the machine, and then a person repeats it.
const SHARE: &str = "manifest=/etc/kubernetes/manifests/kube-apiserver.yaml
install -D -m 0600 /dev/null $manifest
for try in 1 2 3; do
  /usr/libexec/careen/careen-agent doctor --fix --offline 2>&1 && break
  sleep 20
done
rm $manifest
mountpoint /etc/kubernetes";

/// The agent would look for a cluster that is away.
const RESET: &str = "systemctl stop careen-agent && kubeadm reset --force 2>&1";

/// Preflight would ask for what the rig leaves out; there is no DNS and no kube-proxy to install.
const INIT: &str = "env -u KUBECONFIG kubeadm init --config /var/lib/careen-rig/kubeadm.yaml --skip-phases preflight,addon,show-join-command 2>&1";

/// A control-plane component of which the kubelet says that it is ready: its pod, and its container.
pub type Components = BTreeMap<String, String>;

impl Rig {
    /// Makes the node a control plane of the Kubernetes version that it has. It leaves the cluster
    /// that it has joined, which ends. From then on the rig's cluster is the node's own.
    ///
    /// # Errors
    ///
    /// Fails when a part does not build or start.
    pub async fn become_control_plane(&mut self) -> Result<()> {
        self.leave_cluster().await?;
        self.prepare_own().await?;
        let version = self.guest.run("kubeadm version -o short").await?;
        self.kubeadm("kubeadm init", &configuration(&version), INIT)
            .await?;
        self.follow_own().await?;
        self.guest.run("systemctl start careen-agent").await?;
        self.progress.step("starting a pod");
        workload::create(&self.plane.client().await?).await?;
        workload::wait_until_running(&self.plane.client().await?, SERVES).await
    }

    /// Shares /etc/kubernetes and leaves the cluster of the rig, which ends.
    pub(super) async fn leave_cluster(&mut self) -> Result<()> {
        self.policy("[control-plane]\nenabled = true").await?;
        self.progress.step("sharing /etc/kubernetes");
        self.guest.run_within(SHARE, SOON).await?;
        self.progress.step("leaving the cluster");
        self.guest.run_within(RESET, SOON).await?;
        self.plane.stop();
        Ok(())
    }

    /// Gives the node the images, the host their programs, and each the way to the other.
    async fn prepare_own(&mut self) -> Result<()> {
        let [api, etcd, kubelet] = ports::free()?;
        let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let ways = vec![(api, API_SERVER), (etcd, ETCD), (kubelet, KUBELET)];
        self.start_far(here(etcd), here(kubelet), ways).await?;
        self.lead_to_own().await?;
        self.bring_images().await
    }

    /// Starts the far side, which finds the guest's etcd and kubelet at these addresses.
    pub(super) async fn start_far(
        &mut self,
        etcd: SocketAddr,
        kubelet: SocketAddr,
        ways: Vec<(u16, u16)>,
    ) -> Result<()> {
        let images = Images::of(&MINORS)?;
        let far = Far::start(&self.far_logs(), self.address, images.programs)?;
        far.lead((Ipv4Addr::LOCALHOST, ETCD).into(), etcd)?;
        far.lead((self.address, KUBELET).into(), kubelet)?;
        self.own = Some(Own { far, ways });
        Ok(())
    }

    /// Brings the images, whose pods find the far side, to the node's container runtime.
    pub(super) async fn bring_images(&mut self) -> Result<()> {
        self.progress.step("images of the control plane");
        let own = self.own.as_ref().context("no control plane")?;
        let archive = self.dir.join("far.tar");
        let rig = format!("{HOST_SEEN_FROM_GUEST}:{}", own.far.port());
        Images::of(&MINORS)?.write(&rig, &archive)?;
        self.bring(&archive, "/var/lib/careen-rig/far.tar").await?;
        let import = "cd /var/lib/careen-rig && ctr -n k8s.io images import far.tar && rm far.tar";
        self.guest.run_within(import, SOON).await.map(drop)
    }

    /// Runs kubeadm with a configuration to its end.
    pub(super) async fn kubeadm(
        &mut self,
        what: &str,
        configuration: &str,
        script: &str,
    ) -> Result<()> {
        self.progress.step(what);
        let file = self.dir.join("kubeadm.yaml");
        fs::write(&file, configuration)?;
        self.bring(&file, "/var/lib/careen-rig/kubeadm.yaml")
            .await?;
        let ran = self.guest.run_within(script, SERVES).await;
        let logs = self.far_logs();
        ran.with_context(|| format!("the logs of far programs are in {}", logs.display()))?;
        Ok(())
    }

    /// The cluster is the node's own from here on.
    async fn follow_own(&mut self) -> Result<()> {
        let own = self.own.as_ref().context("no control plane")?;
        let (api, _) = own.ways.first().context("no way to it")?;
        let door = own.far.door(*api)?;
        let text = self.guest.run("cat /etc/kubernetes/admin.conf").await?;
        let inside = format!("https://{GUEST}:{API_SERVER}");
        ensure!(text.contains(&inside), "admin.conf names another server");
        let file = self.dir.join("admin.conf");
        fs::write(
            &file,
            text.replace(&inside, &format!("https://127.0.0.1:{door}")),
        )?;
        self.plane.give_way(file);
        self.node = NodeWatch::start(self.plane.client().await?);
        self.node
            .wait("the node is Ready", SERVES, |view| view.ready)
            .await
            .map(drop)
    }

    /// Leads the ports of this machine to the guest, for as long as its power is on.
    pub(super) async fn lead_to_own(&mut self) -> Result<()> {
        let Some(own) = &self.own else {
            return Ok(());
        };
        let running = self.power.as_mut().context("the power is off")?;
        for (here, there) in &own.ways {
            running.forward(*here, *there).await?;
        }
        Ok(())
    }

    /// Copies a file of this machine to the node.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be read, or the guest does not take it.
    pub async fn bring(&mut self, file: &Path, to: &str) -> Result<()> {
        let folder = file.parent().context("a file in no folder")?;
        let name = file.file_name().context("a file without a name")?;
        let served = RepoServer::start(folder).await?;
        let (port, name) = (served.port(), name.to_string_lossy());
        let script = format!("curl -sSf -o {to} http://{HOST_SEEN_FROM_GUEST}:{port}/{name}");
        self.guest.run_within(&script, SOON).await.map(drop)
    }

    /// The path of careen-control on the node. An image without it gets it below /var.
    ///
    /// # Errors
    ///
    /// Fails when it does not build, or the guest does not take it.
    pub async fn careen_control(&mut self) -> Result<&'static str> {
        const OF_THE_IMAGE: &str = "/usr/libexec/careen/careen-control";
        const OURS: &str = "/var/lib/careen-rig/careen-control";
        let look = format!("test -x {OF_THE_IMAGE}");
        if self.guest.try_run(&look, SOON).await?.code == 0 {
            return Ok(OF_THE_IMAGE);
        }
        let stripped = self.dir.join("careen-control");
        let whole = programs::ours("careen-control")?;
        finish(Command::new("strip").arg("-o").arg(&stripped).arg(whole))?;
        self.bring(&stripped, OURS).await?;
        self.guest.run(&format!("chmod 755 {OURS}")).await?;
        Ok(OURS)
    }

    /// The components of this node that are ready, as the node's own API server says.
    ///
    /// # Errors
    ///
    /// Fails when it does not answer.
    pub async fn components(&self) -> Result<Components> {
        let pods: Api<Pod> = Api::namespaced(self.plane.client().await?, "kube-system");
        let labelled = ListParams::default().labels("tier=control-plane");
        let own = labelled.fields(&format!("spec.nodeName={}", self.name));
        let pods = pods.list(&own).await?;
        Ok(pods.iter().filter_map(ready).collect())
    }

    /// Waits until the API server is ready at the guest's port, and all four components are, none
    /// of them in a container of `before`.
    ///
    /// # Errors
    ///
    /// Fails when that does not happen in time.
    pub async fn wait_control_plane(&mut self, before: &Components) -> Result<Components> {
        let wait = async {
            loop {
                if let Ok(found) = self.components().await
                    && found.len() == 4
                    && found
                        .values()
                        .all(|one| before.values().all(|old| old != one))
                    && self.api_server_is_ready().await
                {
                    return found;
                }
                sleep(LOOK).await;
            }
        };
        let found = within(SERVES, wait).await;
        let found = found.with_context(|| {
            let logs = self.far_logs();
            format!(
                "the control plane does not serve; logs are in {}",
                logs.display()
            )
        })?;
        self.progress.step("the control plane serves");
        Ok(found)
    }

    /// Whether `kubectl get --raw /readyz` says ok, through the guest's port.
    pub async fn api_server_is_ready(&self) -> bool {
        let mut kubectl = tokio::process::Command::new(self.plane.program("kubectl"));
        kubectl.args(["get", "--raw", "/readyz", "--request-timeout", "15s"]);
        kubectl
            .arg("--kubeconfig")
            .arg(self.plane.admin_kubeconfig());
        let output = kubectl.kill_on_drop(true).output().await;
        output.is_ok_and(|output| output.stdout == b"ok")
    }

    /// Reboots the node as a person does, and waits for the boot.
    ///
    /// # Errors
    ///
    /// Fails when it does not come up.
    pub async fn reboot(&mut self) -> Result<String> {
        let boot = self.boot_id().await?;
        self.progress.step("reboot");
        // The answer may be lost on the way.
        let _ = self
            .guest
            .try_run("systemctl --no-block reboot", BOOT)
            .await;
        self.wait_boot(Some(&boot)).await
    }

    fn far_logs(&self) -> PathBuf {
        self.dir.join("far")
    }
}

fn ready(pod: &Pod) -> Option<(String, String)> {
    let status = pod.status.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|one| one.type_ == "Ready" && one.status == "True")?;
    let container = status.container_statuses.as_ref()?.first()?;
    Some((pod.name_any(), container.container_id.clone()?))
}

/// One of each, so nobody waits for a lease. An emulated node's heartbeats come late.
fn configuration(version: &str) -> String {
    format!(
        r#"apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: {GUEST}, bindPort: {API_SERVER}}}
nodeRegistration: {{name: {NAME}, criSocket: "unix:///run/containerd/containerd.sock", taints: []}}
timeouts: {{controlPlaneComponentHealthCheck: 15m, kubeletHealthCheck: 10m, kubernetesAPICall: 3m, etcdAPICall: 5m, upgradeManifests: 15m}}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: careen
kubernetesVersion: {version}
apiServer: {{certSANs: [127.0.0.1, localhost]}}
controllerManager:
  extraArgs:
  - {{name: leader-elect, value: "false"}}
  - {{name: node-monitor-grace-period, value: 120s}}
scheduler:
  extraArgs:
  - {{name: leader-elect, value: "false"}}
networking: {{podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}}
dns: {{disabled: true}}
proxy: {{disabled: true}}
encryptionAlgorithm: ECDSA-P256
"#
    )
}
