//! What mirror pods of other Nodes count, with a real API server.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use std::fs;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rig::{Cluster, Root, answer, codes, mirror, mirror_named, node, report, within, worker};
use serde_json::{Value, json};
use testkit::control_plane::ControlPlane;

const COMPONENTS: [&str; 4] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// More than one page of a list.
const MANY: usize = 101;

async fn kubelet(plane: &ControlPlane, name: &str) -> Client {
    let file = plane
        .node_kubeconfig(name, Duration::from_secs(3600))
        .unwrap();
    let content = Kubeconfig::read_from(file).unwrap();
    let config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await;
    Client::try_from(config.unwrap()).unwrap()
}

/// Creates what a captured worker would, with its own kubelet's credential.
async fn forge(kubelet: &Client) {
    let server = "kube-apiserver";
    mirror_named(kubelet, "kube-apiserver-w-1", server, "w-1", "v1.20.0").await;
    report(kubelet, "kube-apiserver-w-1", "False").await;
    for number in 0..MANY {
        mirror_named(kubelet, &format!("aaa-{number}"), "etcd", "w-1", "3.6.6-0").await;
    }
    let label =
        json!({ "metadata": { "labels": { "node-role.kubernetes.io/control-plane": "" } } });
    let nodes: Api<Node> = Api::all(kubelet.clone());
    let by = PatchParams::default();
    let refused = nodes.patch("w-1", &by, &Patch::Merge(label)).await;
    assert!(refused.is_err(), "{refused:?}");
}

fn seen(root: &Root) -> Value {
    let (mut found, _) = answer(root, &["survey", "--target-version", "v1.36.3"]);
    found["survey"]["at"] = json!(0);
    found
}

#[test]
fn mirror_pods_of_a_worker_count_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    within(async {
        let cluster = Cluster::start::<1>();
        let folder = folder.path().join("cluster");
        let plane = ControlPlane::start(&folder).await.unwrap();
        let client = plane.client().await.unwrap();
        for name in ["cp-1", "cp-2"] {
            node(&client, name, json!({})).await;
            for component in COMPONENTS {
                let version = if component == "etcd" {
                    "3.6.6-0"
                } else {
                    "v1.36.3"
                };
                mirror(&client, component, name, version).await;
            }
        }
        worker(&client, "w-1").await;
        cluster.healthy(1).await;
        let root = Root::new();
        root.pods("v1.36.3");
        root.member(&cluster, 0);
        let admin = fs::read_to_string(plane.admin_kubeconfig()).unwrap();
        root.put("/etc/kubernetes/admin.conf", &admin);
        let own = plane.node_kubeconfig("cp-1", Duration::from_secs(3600));
        let own = fs::read_to_string(own.unwrap()).unwrap();
        root.put("/etc/kubernetes/kubelet.conf", &own);

        let before = seen(&root);
        let others = before["survey"]["others"].as_array().unwrap();
        assert!(others.len() == 4 && others.iter().all(|one| one["node"] == "cp-2"));
        assert_eq!(before["survey"]["ownNotReady"], Value::Null, "{before:#}");
        assert_eq!(codes(&before), ["SingleMember"]);
        forge(&kubelet(&plane, "w-1").await).await;
        let after = seen(&root);
        assert_eq!(after["survey"]["others"], before["survey"]["others"]);
        assert_eq!(after["survey"]["ownNotReady"], Value::Null, "{after:#}");
        assert_eq!(after["findings"], before["findings"]);
    });
}
