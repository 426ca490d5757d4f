//! The rights of a stolen credential: this node, and no other. The tests add no Careen rights
//! anywhere.

use anyhow::Result;
use careen_tests::node::TestNode;
use careen_tests::pods::Namespace;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, EvictParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use upgrade::names;

fn code<T>(result: kube::Result<T>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

async fn patch(nodes: &Api<Node>, name: &str, body: Value) -> u16 {
    code(
        nodes
            .patch(name, &PatchParams::default(), &Patch::Merge(body))
            .await,
    )
}

#[tokio::test]
async fn another_node_cannot_be_written_nor_read() -> Result<()> {
    let (own, other) = (TestNode::new("own").await?, TestNode::new("other").await?);
    let nodes: Api<Node> = Api::all(own.as_kubelet().await?);
    let annotation = json!({ "metadata": { "annotations": { names::ANSWER: "Failed" } } });
    assert_eq!(patch(&nodes, &own.name, annotation.clone()).await, 200);
    assert_eq!(patch(&nodes, &other.name, annotation.clone()).await, 403);
    assert_eq!(
        patch(
            &nodes,
            &other.name,
            json!({ "spec": { "unschedulable": true } })
        )
        .await,
        403
    );
    let status = Patch::Strategic(annotation);
    assert_eq!(
        code(
            nodes
                .patch_status(&other.name, &PatchParams::default(), &status)
                .await
        ),
        403
    );
    assert_eq!(code(nodes.get(&other.name).await), 403);
    assert_eq!(
        code(nodes.delete(&own.name, &DeleteParams::default()).await),
        403
    );
    Ok(())
}

#[tokio::test]
async fn taints_cannot_be_changed() -> Result<()> {
    let own = TestNode::new("taints").await?;
    let nodes: Api<Node> = Api::all(own.as_kubelet().await?);
    let taint = json!({ "key": "careen.dev/x", "effect": "NoSchedule" });
    let taints = json!({ "spec": { "taints": [taint], "unschedulable": true } });
    assert_eq!(patch(&nodes, &own.name, taints).await, 403);
    Ok(())
}

#[tokio::test]
async fn node_cannot_evict_other_nodes_pods_or_read_budgets() -> Result<()> {
    let (own, other) = (
        TestNode::new("evicts").await?,
        TestNode::new("victim").await?,
    );
    let (ours, theirs) = (Namespace::new(&own).await?, Namespace::new(&other).await?);
    ours.run("web", json!({})).await?;
    theirs.run("web", json!({})).await?;
    let client = own.as_kubelet().await?;
    let pods =
        |namespace: &Namespace| -> Api<Pod> { Api::namespaced(client.clone(), &namespace.name) };
    assert_eq!(
        code(pods(&theirs).evict("web", &EvictParams::default()).await),
        403
    );
    assert_eq!(
        code(pods(&ours).evict("web", &EvictParams::default()).await),
        200
    );
    let all: Api<Pod> = Api::all(client.clone());
    assert_eq!(code(all.list(&ListParams::default()).await), 403);
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), &ours.name);
    assert_eq!(code(budgets.list(&ListParams::default()).await), 403);
    Ok(())
}
