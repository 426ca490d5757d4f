//! What an administrator types, who knows everything in advance and checks nothing. That is the
//! minimum.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::Api;
use native::{Cluster, Images, Member, until};
use serde_json::{Value, json};

use crate::measured;

/// Where the configuration of the upgrade is.
const CONFIGURATION: &str = "/etc/kubeadm-upgrade.yaml";

/// `kubeadm upgrade`, with the phases that a raise leaves out left out too. kubeadm's preflight
/// waits for a container runtime that is not there. `etcd` is kubeadm's `etcdUpgrade`, whose
/// default is true.
pub fn kubeadm(member: &Member, verb: &str, to: &Images, etcd: bool) -> Result<Command> {
    member.write(
        CONFIGURATION,
        &configuration(to.version(), etcd).to_string(),
    )?;
    let kubeadm = to.commands().join("kubeadm");
    let kubeadm = kubeadm.to_str().context("a path that is no text")?;
    let mut words = vec![kubeadm, "upgrade", verb, "--config", CONFIGURATION];
    // Only this verb asks.
    words.extend((verb == "apply").then_some("--yes"));
    measured::command(member, &words)
}

fn configuration(version: &str, etcd: bool) -> Value {
    let node = json!({
        "certificateRenewal": true,
        "etcdUpgrade": etcd,
        "ignorePreflightErrors": ["all"],
        "skipPhases": ["preflight", "kubelet-config", "addon"],
    });
    let mut apply = node.clone();
    apply["kubernetesVersion"] = version.into();
    apply["forceUpgrade"] = true.into();
    json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "UpgradeConfiguration",
        "apply": apply,
        "node": node,
        // As `kubeadm init` had it, so that no startup probe changes.
        "timeouts": { "upgradeManifests": "300s", "controlPlaneComponentHealthCheck": "600s" },
    })
}

/// `kubeadm upgrade`, then the reboot into the new system, until the member serves with it.
pub async fn upgrade(cluster: &Cluster, number: usize, to: &Images, client: &Client) -> Result<()> {
    let member = cluster.members().get(number).context("no such member")?;
    let verb = if number == 0 { "apply" } else { "node" };
    measured::run(kubeadm(member, verb, to, true)?, &[0]).await?;
    member.cut_power();
    member.boot_without_kubelet()?;
    member.start_kubelet_of(to)?;
    until("the member serves", async || {
        member.api_server_is_ready().await && runs(client, member, to).await
    })
    .await;
    let manifest = member.read("/etc/kubernetes/manifests/kube-apiserver.yaml")?;
    ensure!(
        manifest.contains(to.version()),
        "kubeadm changed nothing: {manifest}"
    );
    Ok(())
}

/// Whether the Node says that its kubelet has this version.
async fn runs(client: &Client, member: &Member, to: &Images) -> bool {
    let nodes: Api<Node> = Api::all(client.clone());
    let Ok(node) = nodes.get(member.name()).await else {
        return false;
    };
    let info = node.status.and_then(|status| status.node_info);
    info.is_some_and(|info| info.kubelet_version == to.version())
}
