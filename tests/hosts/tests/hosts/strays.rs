//! A Node of a prepared host that no machine has.

use anyhow::{Result, ensure};
use hosts_tests::{IMAGE, Running, Scene};
use infrastructure::Policy;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::Api;
use provider::kinds::UNMANAGED;
use serde_json::json;
use testkit::cluster_api::objects;

use crate::workload;

/// The claim that nobody has.
const ID: &str = "00000000000000aa";

/// Whether the Node is marked, and it still exists.
async fn is_marked(scene: &Scene, name: &str) -> Result<bool> {
    let nodes: Api<Node> = Api::all(scene.admin.clone());
    Ok(nodes.get(name).await?.annotations().contains_key(UNMANAGED))
}

#[tokio::test]
async fn node_without_a_machine_is_marked_until_one_has_it() -> Result<()> {
    const SPACE: &str = "strays";
    let scene = Scene::new(SPACE).await?;
    let policy = Policy {
        unmanaged: 1,
        ..Policy::default()
    };
    let _provider = Running::start(&scene.admin, SPACE, policy).await?;
    scene.cluster().await?;
    workload::reachable(&scene).await?;
    for (name, id) in [
        ("stray-0", format!("careen://{SPACE}/stray-0/{ID}")),
        ("stray-1", format!("careen://others/stray-1/{ID}")),
        ("stray-2", "other:///stray-2".to_owned()),
    ] {
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
            "spec": { "providerID": id },
        });
        objects::apply(&scene.admin, &node).await?;
    }
    let marked = || async {
        ensure!(is_marked(&scene, "stray-0").await?, "not marked");
        Ok(())
    };
    scene.until("it is marked", marked).await?;
    for other in ["stray-1", "stray-2"] {
        assert!(!is_marked(&scene, other).await?, "{other} is not ours");
    }
    scene
        .apply(&json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachine",
            "metadata": { "name": "m-0", "labels": { "cluster.x-k8s.io/cluster-name": "c" } },
            "spec": {
                "osImage": IMAGE,
                "hostRef": { "name": "stray-0", "claim": ID, "since": 1, "committed": true },
            },
        }))
        .await?;
    let unmarked = || async {
        ensure!(!is_marked(&scene, "stray-0").await?, "still marked");
        Ok(())
    };
    scene.until("a machine has it", unmarked).await
}
