//! One Machine and its related objects, as Cluster API's core, the rig's infrastructure provider
//! and a kubelet write them. Their state is the moment after core marks the Machine and before it
//! calls for it.

use careen_tests::fleet::images::{FIRST, LATEST};
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::infrastructure;

/// The namespace, and the name of the only Cluster in it. A second Cluster on the same API server
/// would show every Node twice.
pub const SPACE: &str = "bench";

/// The number of Machines in a MachineDeployment.
pub const PER_DEPLOYMENT: usize = 100;

/// The number of container images that a kubelet reports. Its default is 50. The cost affects the
/// API servers, and the benchmark while it parses them.
const IMAGES: usize = 20;

/// The name of a Machine, its InfraMachine, its bootstrap config and its Node.
pub fn name(number: usize) -> String {
    format!("worker-{number:05}")
}

fn deployment_name(number: usize) -> String {
    format!("workers-{:03}", number / PER_DEPLOYMENT)
}

/// The provider ID that links a Machine and its Node of this name.
pub fn provider_id(name: &str) -> String {
    format!("rig://{name}")
}

/// The labels that core sets on all objects of a MachineDeployment.
pub fn labels(number: usize) -> Value {
    json!({
        names::CLUSTER_LABEL: SPACE,
        names::DEPLOYMENT_LABEL: deployment_name(number),
        "cluster.x-k8s.io/set-name": format!("{}-q686v", deployment_name(number)),
        "machine-template-hash": "3240513903-q686v",
    })
}

fn metadata(number: usize) -> Value {
    json!({
        "name": name(number), "namespace": SPACE, "labels": labels(number),
        "annotations": { names::UPDATE_IN_PROGRESS: "" },
    })
}

/// A Machine with core's mark, in the new version.
pub fn machine(number: usize) -> Value {
    let mut metadata = metadata(number);
    metadata["annotations"][names::PENDING_HOOKS] = json!(names::UPDATE_MACHINE);
    let part =
        |group: &str, kind: &str| json!({ "apiGroup": group, "kind": kind, "name": name(number) });
    let config = part("bootstrap.cluster.x-k8s.io", "KubeadmConfig");
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata,
        "spec": {
            "clusterName": SPACE, "version": LATEST.version, "providerID": provider_id(&name(number)),
            "bootstrap": { "configRef": config, "dataSecretName": name(number) },
            "infrastructureRef": part(infrastructure::GROUP, "RigMachine"),
            "deletion": { "nodeDeletionTimeoutSeconds": 10 },
        },
    })
}

/// Its InfraMachine.
pub fn infra_machine(number: usize) -> Value {
    json!({
        "apiVersion": format!("{}/{}", infrastructure::GROUP, infrastructure::VERSION), "kind": "RigMachine",
        "metadata": metadata(number), "spec": { "providerID": provider_id(&name(number)) },
    })
}

/// The status that the InfraMachine's own provider writes.
pub fn infra_status() -> Value {
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "HostRuns", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    json!({ "status": {
        "initialization": { "provisioned": true }, "version": FIRST.version,
        "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }], "conditions": [ready],
    } })
}

/// Its MachineDeployment. All of its Machines may be unavailable at the same time, so that all are
/// in flight.
pub fn deployment(number: usize) -> Value {
    let strategy =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "100%" } });
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
        "metadata": { "name": deployment_name(number), "namespace": SPACE },
        "spec": { "clusterName": SPACE, "replicas": PER_DEPLOYMENT, "rollout": { "strategy": strategy } },
    })
}

/// Its Node, in the old version.
pub fn node(number: usize) -> Value {
    node_named(&name(number), number, FIRST.version)
}

/// A Node as its kubelet shows it: Ready, in this version.
pub fn node_named(name: &str, number: usize, version: &str) -> Value {
    let info = json!({
        "architecture": "amd64", "bootID": format!("0a1b2c3d-0000-0000-0000-{number:012}"), "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.12.41", "kubeProxyVersion": "", "kubeletVersion": version, "machineID": format!("{number:032}"),
        "operatingSystem": "linux", "osImage": "Careen's bench", "systemUUID": format!("{number:032}"),
    });
    let well = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map(|word| {
        let status = if word == "Ready" { "True" } else { "False" };
        json!({ "type": word, "status": status, "reason": "Kubelet", "message": "kubelet is posting its status" })
    });
    let image = |image: usize| {
        let digest = format!("{image:064}");
        json!({ "names": [format!("registry.example.org/some/project/image-{image}@sha256:{digest}")], "sizeBytes": 1 })
    };
    let images: Vec<Value> = (0..IMAGES).map(image).collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64" } },
        "spec": { "providerID": provider_id(name) },
        "status": { "nodeInfo": info, "conditions": well, "images": images },
    })
}
