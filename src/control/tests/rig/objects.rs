//! What the API server of a cluster shows: Nodes, and the mirrors of static pods.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// Gives the cluster a control-plane Node.
pub async fn node(client: &Client, name: &str, annotations: Value) {
    let labels = json!({ "node-role.kubernetes.io/control-plane": "" });
    create_node(
        client,
        json!({ "name": name, "labels": labels, "annotations": annotations }),
    )
    .await;
}

/// Gives the cluster a worker.
pub async fn worker(client: &Client, name: &str) {
    create_node(client, json!({ "name": name })).await;
}

async fn create_node(client: &Client, metadata: Value) {
    let node: Node = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
    let api: Api<Node> = Api::all(client.clone());
    let made = api.create(&PostParams::default(), &node).await.unwrap();
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True",
        "lastHeartbeatTime": "2026-11-29T00:00:00Z", "lastTransitionTime": "2026-11-29T00:00:00Z" }] } });
    let (by, ready) = (PatchParams::default(), Patch::Merge(ready));
    let name = made.metadata.name.unwrap();
    api.patch_status(&name, &by, &ready).await.unwrap();
}

/// A pod as the kubelet of a node mirrors it, Ready.
pub async fn mirror(client: &Client, component: &str, on: &str, version: &str) {
    let name = format!("{component}-{on}");
    mirror_named(client, &name, component, on, version).await;
    report(client, &name, "True").await;
}

/// The same with this name, and without a status.
pub async fn mirror_named(client: &Client, name: &str, component: &str, on: &str, version: &str) {
    let nodes: Api<Node> = Api::all(client.clone());
    let uid = nodes.get(on).await.unwrap().metadata.uid;
    let owner =
        json!({ "apiVersion": "v1", "kind": "Node", "name": on, "uid": uid, "controller": true });
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "labels": { "component": component, "tier": "control-plane" },
            "annotations": { "kubernetes.io/config.mirror": "hash" },
            "ownerReferences": [owner],
        },
        "spec": { "nodeName": on, "containers": [
            { "name": component, "image": format!("registry.k8s.io/{component}:{version}") }] },
    }))
    .unwrap();
    let api: Api<Pod> = Api::namespaced(client.clone(), "kube-system");
    let mut tries = 0;
    // The namespace, and for a kubelet its Node, come some time after the API server.
    while let Err(error) = api.create(&PostParams::default(), &pod).await {
        tries += 1;
        assert!(tries < 100, "{error}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Reports whether a pod is Ready.
pub async fn report(client: &Client, pod: &str, ready: &str) {
    let ready = json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] } });
    let (by, ready) = (PatchParams::default(), Patch::Merge(ready));
    let api: Api<Pod> = Api::namespaced(client.clone(), "kube-system");
    api.patch_status(pod, &by, &ready).await.unwrap();
}
