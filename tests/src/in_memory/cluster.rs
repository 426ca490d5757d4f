//! A Cluster on the in-memory provider, as its user writes it: only references and versions.

use anyhow::Result;
use kube::Client;
use serde_json::{Value, json};
use testkit::cluster_api::cluster::{Cluster, Rolling};
use testkit::cluster_api::objects;

const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// Creates a Cluster with a KubeadmControlPlane of three Machines without a spare, and a
/// MachineDeployment `w` of this size.
///
/// # Errors
/// When the API server refuses.
pub async fn create(
    client: &Client,
    name: &str,
    version: &str,
    (workers, rolling): (u32, Rolling),
) -> Result<Cluster> {
    let named = |of: &str| json!({ "name": of, "namespace": name });
    let mut infrastructure = named(name);
    // The provider panics at a DevCluster without annotations, because it adds one to the existing
    // map (v1.14.0).
    infrastructure["annotations"] = json!({ "rig.careen.dev/in-memory": "" });
    let all = [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
        json!({
            "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "DevCluster", "metadata": infrastructure,
            "spec": { "backend": { "inMemory": {} } },
        }),
        machine_template(named("control-plane")),
        machine_template(named("w")),
        json!({
            "apiVersion": format!("{BOOTSTRAP}/v1beta2"), "kind": "KubeadmConfigTemplate", "metadata": named("w"),
            "spec": { "template": { "spec": { "joinConfiguration": registration() } } },
        }),
        control_plane(named(name), version),
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": named(name),
            "spec": {
                "controlPlaneRef": reference(CONTROL_PLANE, "KubeadmControlPlane", name),
                "infrastructureRef": reference(INFRASTRUCTURE, "DevCluster", name),
            },
        }),
        deployment(named("w"), (workers, version), rolling),
    ];
    // One after the other, because the namespace must exist before the objects in it.
    for object in &all {
        objects::apply(client, object).await?;
    }
    Ok(Cluster {
        client: client.clone(),
        name: name.to_owned(),
    })
}

fn control_plane(metadata: Value, version: &str) -> Value {
    json!({
        "apiVersion": format!("{CONTROL_PLANE}/v1beta2"), "kind": "KubeadmControlPlane", "metadata": metadata,
        "spec": {
            "replicas": 3, "version": version,
            "rollout": { "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 0 } } },
            "machineTemplate": { "spec": {
                "infrastructureRef": reference(INFRASTRUCTURE, "DevMachineTemplate", "control-plane"),
            } },
            "kubeadmConfigSpec": { "initConfiguration": registration(), "joinConfiguration": registration() },
        },
    })
}

fn deployment(metadata: Value, (replicas, version): (u32, &str), rolling: Rolling) -> Value {
    let cluster = metadata["namespace"].clone();
    let limits =
        json!({ "maxSurge": rolling.max_surge, "maxUnavailable": rolling.max_unavailable });
    let config = reference(BOOTSTRAP, "KubeadmConfigTemplate", "w");
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": metadata,
        "spec": {
            "clusterName": cluster, "replicas": replicas, "selector": {},
            "rollout": { "strategy": { "type": "RollingUpdate", "rollingUpdate": limits } },
            "template": { "spec": {
                "clusterName": cluster, "version": version, "bootstrap": { "configRef": config },
                "infrastructureRef": reference(INFRASTRUCTURE, "DevMachineTemplate", "w"),
            } },
        },
    })
}

/// Every part of such a host is up one second after its creation. The cost of its start is not part
/// of the test.
fn machine_template(metadata: Value) -> Value {
    let soon = json!({ "provisioning": { "startupDuration": "1s" } });
    let backend =
        json!({ "inMemory": { "vm": soon, "node": soon, "apiServer": soon, "etcd": soon } });
    json!({
        "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "DevMachineTemplate", "metadata": metadata,
        "spec": { "template": { "spec": { "backend": backend } } },
    })
}

fn registration() -> Value {
    json!({ "nodeRegistration": { "criSocket": "unix:///run/containerd/containerd.sock" } })
}

fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({ "apiGroup": group, "kind": kind, "name": name })
}
