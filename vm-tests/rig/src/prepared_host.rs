//! A node that has left its cluster and waits as a prepared host, with everything that provisions on
//! it: the real managers, careen-provider as shipped, and careen-host on the node.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams};
use serde_json::{Value, json};
use testkit::cluster_api::cluster::Cluster;
use testkit::cluster_api::infrastructure::install_kinds;
use testkit::cluster_api::provider::Provider;
use testkit::cluster_api::{Manager, Managers, Version, objects};
use testkit::control_plane::HOST_SEEN_FROM_GUEST;
use testkit::programs;
use testkit::script::finish;

use crate::kubectl_careen::KubectlCareen;
use crate::node::NAME;
use crate::rig::Rig;

/// The Cluster, and its namespace.
pub const CLUSTER: &str = "edge";

/// The MachineDeployment, and its template.
const WORKERS: &str = "workers";

/// A worker needs no kubeadm control plane manager.
const MANAGERS: [Manager; 2] = [Manager::Core, Manager::Bootstrap];

/// How long anything takes at most on a node that is emulated.
const PATIENCE: Duration = Duration::from_secs(900);

/// Where the program is on the node. No image has it yet.
const PROGRAM: &str = "/var/lib/careen-rig/careen-host";

/// What kubeadm, the kubelet and pods leave. A person who prepares a host removes it.
const LEAVE: &str = "systemctl stop careen-agent; kubeadm reset --force; systemctl stop kubelet; \
    rm -rf /etc/cni/net.d/10-* /etc/kubernetes/* /var/lib/cni /var/lib/kubelet /var/log/pods /var/log/containers; \
    rm -rf /sysroot/ostree/careen/record*; true";

/// Everything around the host. Dropping it ends all but the host.
pub struct PreparedHost {
    cluster: Cluster,
    _provider: Provider,
    _managers: Managers,
}

/// Builds the programs that run next to the node.
///
/// # Errors
///
/// Fails when a build fails.
pub fn build() -> Result<()> {
    for manager in MANAGERS {
        manager.built(Version::NEWEST)?;
    }
    programs::ours("careen-host")?;
    programs::ours("careen-provider").map(drop)
}

impl PreparedHost {
    /// Starts everything, takes the node out of its cluster, and waits until it is available.
    ///
    /// # Errors
    ///
    /// Fails when a part does not start, or the host does not become available.
    pub async fn of(rig: &mut Rig, version: &str) -> Result<Self> {
        let client = rig.plane.client().await?;
        let managers = Managers::start_these(&MANAGERS, Version::NEWEST, &rig.plane).await?;
        install_kinds(&client).await?;
        let provider = Provider::start_with_hosts(&rig.plane).await?;
        let cluster =
            Cluster::on_prepared_hosts(&rig.plane, HOST_SEEN_FROM_GUEST, (CLUSTER, version))
                .await?;
        let this = Self {
            cluster,
            _provider: provider,
            _managers: managers,
        };
        this.register().await?;
        leave(rig).await?;
        this.bring(rig).await?;
        let old = rig.boot_id().await?;
        rig.guest.run("systemctl reboot").await?;
        rig.wait_boot(Some(&old)).await?;
        this.until_phase("Available").await?;
        Ok(this)
    }

    async fn register(&self) -> Result<()> {
        let object = json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration",
            "metadata": { "name": "rack-a", "namespace": CLUSTER }, "spec": { "autoApprove": true },
        });
        objects::apply(&self.cluster.client, &object)
            .await
            .map(drop)
    }

    /// Installs careen-host as a package would, but below /var and /etc.
    async fn bring(&self, rig: &mut Rig) -> Result<()> {
        let stripped = rig.dir().join("careen-host");
        let whole = programs::ours("careen-host")?;
        finish(Command::new("strip").arg("-o").arg(&stripped).arg(whole))?;
        rig.bring(&stripped, PROGRAM).await?;
        let home = programs::home()
            .parent()
            .context("no source tree")?
            .to_owned();
        for (file, to) in [
            (
                "careen-host.service",
                "/etc/systemd/system/careen-host.service",
            ),
            (
                "kubelet.conf",
                "/etc/systemd/system/kubelet.service.d/50-careen-host.conf",
            ),
        ] {
            rig.guest.run(&format!("mkdir -p {}", parent(to))).await?;
            rig.bring(&home.join("systemd/host").join(file), to).await?;
        }
        let kubectl = KubectlCareen::of(rig)?;
        let server = format!("https://{HOST_SEEN_FROM_GUEST}:{}", rig.plane.api_port());
        let line = format!("host token -n {CLUSTER} --registration rack-a --server {server}");
        let ask = || async {
            let told = kubectl.run(&line).await?;
            ensure!(told.code == 0, "{}", told.text);
            Ok(told.text)
        };
        let text = objects::until("a token of the registration", PATIENCE, ask).await?;
        let file = rig.dir().join("host.toml");
        std::fs::write(&file, text)?;
        rig.bring(&file, "/etc/careen/host.toml").await?;
        let rest = format!(
            "chmod 755 {PROGRAM}; chmod 600 /etc/careen/host.toml; \
             sed -i 's|/usr/libexec/careen/careen-host|{PROGRAM}|' /etc/systemd/system/careen-host.service; \
             systemctl daemon-reload; systemctl enable careen-host"
        );
        rig.guest.run(&rest).await.map(drop)
    }

    /// Asks for so many Machines with this image.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn ask(&self, image: &str, (replicas, version): (u32, &str)) -> Result<()> {
        let object = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachineTemplate",
            "metadata": { "name": WORKERS, "namespace": CLUSTER },
            "spec": { "template": { "spec": { "osImage": image } } },
        });
        objects::apply(&self.cluster.client, &object).await?;
        let wanted = (replicas, version);
        self.cluster
            .deployment_on_hosts(WORKERS, wanted)
            .await
            .map(drop)
    }

    /// Asks for no Machine any more.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn give_back(&self) -> Result<()> {
        self.cluster.scale_deployment(WORKERS, 0).await
    }

    /// Waits until the host has this phase.
    ///
    /// # Errors
    ///
    /// Fails when it has not in time; the message shows its status.
    pub async fn until_phase(&self, wanted: &str) -> Result<()> {
        let kind = objects::kind("careen.dev/v1alpha1", "CareenHost")?;
        let hosts = objects::api(&self.cluster.client, &kind, Some(CLUSTER));
        let ask = || async {
            let all = hosts.list(&ListParams::default()).await?;
            let status = |one: &DynamicObject| one.data["status"].clone();
            let said: Vec<Value> = all.iter().map(status).collect();
            ensure!(said.iter().any(|one| one["phase"] == wanted), "{said:?}");
            Ok(())
        };
        objects::until(&format!("the host is {wanted}"), PATIENCE, ask).await
    }

    /// Waits until the Machine runs, and returns its provider id.
    ///
    /// # Errors
    ///
    /// Fails when it does not in time; the message shows the CareenMachine.
    pub async fn until_running(&self) -> Result<String> {
        let kind = objects::kind("cluster.x-k8s.io/v1beta2", "Machine")?;
        let machines = objects::api(&self.cluster.client, &kind, Some(CLUSTER));
        let ask = || async {
            let all = machines.list(&ListParams::default()).await?.items;
            let one = all.first().context("no Machine")?;
            ensure!(
                one.data["status"]["phase"] == "Running",
                "{}",
                one.data["status"]
            );
            let id = one.data["spec"]["providerID"].as_str();
            id.map(str::to_owned).context("no provider id")
        };
        objects::until("a Machine that runs", PATIENCE, ask).await
    }

    /// The Node.
    ///
    /// # Errors
    ///
    /// Fails when there is none.
    pub async fn node(&self) -> Result<Option<Node>> {
        let nodes: Api<Node> = Api::all(self.cluster.client.clone());
        Ok(nodes.get_opt(NAME).await?)
    }
}

/// Takes the node out of the cluster that the rig has joined it to.
async fn leave(rig: &mut Rig) -> Result<()> {
    rig.guest.run_within(LEAVE, PATIENCE).await?;
    let nodes: Api<Node> = Api::all(rig.plane.client().await?);
    nodes.delete(NAME, &DeleteParams::default()).await?;
    Ok(())
}

fn parent(path: &str) -> String {
    let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
    folder.display().to_string()
}
