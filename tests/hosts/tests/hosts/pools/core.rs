//! What Cluster API's core does for a MachinePool: it makes a Machine for each CareenMachine of the
//! pool, and deletes a CareenMachine after its Machine. It drains nothing here.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use hosts_tests::Scene;
use infrastructure::Phase;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use provider::kinds::{CareenHost, CareenMachine};
use serde_json::{Value, json};
use testkit::cluster_api::objects;
use tokio::task::JoinHandle;

/// The finalizer of core.
const FINALIZER: &str = "machine.cluster.x-k8s.io";
/// The label of the members of the pool.
pub const MEMBERS: &str = "cluster.x-k8s.io/pool-name=w";

/// Core. Dropping it ends it.
pub struct Core(JoinHandle<()>);

impl Drop for Core {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Core {
    /// Plays it for the pool `w`.
    pub fn play(scene: &Arc<Scene>) -> Self {
        let scene = Arc::clone(scene);
        Self(tokio::spawn(async move {
            loop {
                if let Err(error) = turn(&scene).await {
                    eprintln!("core: {error:#}");
                }
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        }))
    }
}

/// The Machines of a namespace.
pub fn machines(scene: &Scene) -> Result<Api<DynamicObject>> {
    let kind = objects::kind("cluster.x-k8s.io/v1beta2", "Machine")?;
    Ok(objects::api(&scene.admin, &kind, Some(&scene.space)))
}

async fn turn(scene: &Scene) -> Result<()> {
    let ours: Api<CareenMachine> = scene.all();
    let members = ours.list(&ListParams::default().labels(MEMBERS)).await?;
    for member in &members {
        if member.metadata.deletion_timestamp.is_none() {
            surface(scene, member).await?;
        }
    }
    for machine in machines(scene)?.list(&ListParams::default()).await? {
        if machine.metadata.deletion_timestamp.is_some() {
            remove(scene, &machine.name_any()).await?;
        }
    }
    Ok(())
}

/// The Machine has the kubelet's version and no bootstrap data, as core's has.
async fn surface(scene: &Scene, member: &CareenMachine) -> Result<()> {
    let name = member.name_any();
    let exists = machines(scene)?.get_opt(&name).await?;
    if exists.is_some_and(|one| one.metadata.deletion_timestamp.is_some()) {
        return Ok(());
    }
    let kind = objects::kind("cluster.x-k8s.io/v1beta2", "MachinePool")?;
    let pools = objects::api(&scene.admin, &kind, Some(&scene.space));
    let Some(pool) = pools.get_opt("w").await? else {
        return Ok(());
    };
    let node = node_of(scene, member).await?;
    let kubelet = node.as_ref().and_then(|node| {
        let status = node.status.as_ref()?;
        Some(status.node_info.as_ref()?.kubelet_version.clone())
    });
    let reference = node.map(|node| json!({ "nodeRef": { "name": node.name_any() } }));
    let owner = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "name": "w",
        "uid": pool.uid(), "controller": true,
    });
    let made = scene
        .apply(&json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {
                "name": name, "finalizers": [FINALIZER], "ownerReferences": [owner],
                "labels": { "cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/pool-name": "w" },
            },
            "spec": {
                "clusterName": "c", "version": kubelet.unwrap_or_default(),
                "bootstrap": { "dataSecretName": "" }, "providerID": member.spec.provider_id,
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CareenMachine", "name": name,
                },
            },
            "status": reference.unwrap_or_else(|| json!({})),
        }))
        .await?;
    let owner = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
        "uid": made["metadata"]["uid"], "controller": true,
    });
    scene
        .apply(&json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachine",
            "metadata": { "name": name, "ownerReferences": [owner] },
        }))
        .await
        .map(drop)
}

async fn node_of(scene: &Scene, member: &CareenMachine) -> Result<Option<Node>> {
    let (Some(host), Some(id)) = (&member.spec.host_ref, &member.spec.provider_id) else {
        return Ok(None);
    };
    let nodes: Api<Node> = Api::all(scene.admin.clone());
    let node = nodes.get_opt(&host.name).await?;
    let is_its = |node: &Node| {
        let spec = node.spec.as_ref();
        spec.is_some_and(|spec| spec.provider_id.as_ref() == Some(id))
    };
    Ok(node.filter(is_its))
}

/// The CareenMachine goes first, then its Node, then the Machine.
async fn remove(scene: &Scene, name: &str) -> Result<()> {
    let ours: Api<CareenMachine> = scene.all();
    match ours.get_opt(name).await? {
        Some(member) if member.metadata.deletion_timestamp.is_none() => {
            ours.delete(name, &DeleteParams::default()).await?;
        }
        Some(_) => {}
        None => {
            let none = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            machines(scene)?
                .patch(name, &PatchParams::default(), &none)
                .await?;
        }
    }
    Ok(())
}

/// The kubelets of all joined hosts: each registers a Node with the provider id of its claim.
pub async fn kubelets(scene: &Scene) -> Result<()> {
    let hosts: Api<CareenHost> = scene.all();
    let nodes: Api<Node> = Api::all(scene.admin.clone());
    for host in hosts.list(&ListParams::default()).await? {
        let name = host.name_any();
        let status = host.status.clone().unwrap_or_default();
        let claim = host.spec.claim.clone();
        let Some(claim) = claim.filter(|_| status.phase == Phase::Joined) else {
            continue;
        };
        if nodes.get_opt(&name).await?.is_none() {
            let node = json!({
                "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
                "spec": { "providerID": claim.provider_id },
            });
            objects::apply(&scene.admin, &node).await?;
            runs(scene, &name, &claim.version.unwrap_or_default()).await?;
        }
    }
    Ok(())
}

/// The Node is Ready, with this kubelet.
pub async fn runs(scene: &Scene, node: &str, version: &str) -> Result<()> {
    let nodes: Api<Node> = Api::all(scene.admin.clone());
    let ready: Value =
        json!({ "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "" });
    let status =
        json!({ "status": { "conditions": [ready], "nodeInfo": { "kubeletVersion": version } } });
    let how = PatchParams::default();
    nodes
        .patch_status(node, &how, &Patch::Merge(status))
        .await?;
    Ok(())
}
