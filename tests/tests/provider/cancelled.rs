//! A requester may withdraw, and a person may pause owners. The provider then removes the request
//! from the node, and still watches the node.

use anyhow::Result;
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use provider::names;
use serde_json::{Value, json};

/// A Machine whose node has a request from a scene's own provider.
async fn asked(scene: &Management, name: &str, labels: Value) -> Result<()> {
    scene.machine(&scene.space, name, labels).await?;
    scene.ask(name).await?;
    scene.until_asked(name, true).await?;
    scene
        .until_annotated(name, names::SKIP_REMEDIATION, true)
        .await
}

/// Waits until the node has no request and no other mark of the provider.
async fn left_alone(scene: &Management, name: &str) -> Result<()> {
    scene.until_asked(name, false).await?;
    scene
        .until_annotated(name, names::SKIP_REMEDIATION, false)
        .await?;
    scene.until_annotated(name, names::MARK, false).await
}

fn annotation(key: &str, value: Value) -> Value {
    json!({ "metadata": { "annotations": { key: value } } })
}

#[tokio::test]
async fn removed_annotation_withdraws_the_request_and_restores_ready() -> Result<()> {
    let scene = Management::new("withdrawn").await?;
    let _replica = Replica::start(&scene, "one").await?;
    asked(&scene, "withdrawn-0", json!({})).await?;
    scene
        .until_reason("withdrawn-0", names::READY, names::READY_REASON)
        .await?;
    let change = annotation(names::ASK, Value::Null);
    scene.change("Machine", "withdrawn-0", change).await?;
    left_alone(&scene, "withdrawn-0").await?;
    scene
        .until_reason("withdrawn-0", names::CONDITION, "Withdrawn")
        .await?;
    let ready = scene
        .until_reason("withdrawn-0", names::READY, "Ready")
        .await?;
    assert_eq!(ready["status"], "True");
    Ok(())
}

#[tokio::test]
async fn a_machine_that_is_deleted_has_its_request_taken_back() -> Result<()> {
    let scene = Management::new("deleted").await?;
    let _replica = Replica::start(&scene, "one").await?;
    asked(&scene, "deleted-0", json!({})).await?;
    scene.delete("Machine", "deleted-0").await?;
    left_alone(&scene, "deleted-0").await
}

/// Only the owner changes: no change of the Machine or the Node triggers the provider.
async fn pauses(space: &str, (kind, owner): (&str, &str), labels: Value) -> Result<()> {
    let scene = Management::new(space).await?;
    let _replica = Replica::start(&scene, "one").await?;
    scene.owner(kind, owner).await?;
    let machine = format!("{space}-0");
    asked(&scene, &machine, labels).await?;
    let mark = |value: Value| annotation(names::PAUSED, value);
    let pause = |paused: bool| json!({ "spec": { "paused": paused } });
    let mut ways = vec![
        (kind, owner, mark(json!("")), mark(Value::Null)),
        ("Cluster", space, pause(true), pause(false)),
    ];
    if kind == "MachineDeployment" {
        // The field that `clusterctl alpha rollout pause` sets. A control plane does not have this
        // field.
        ways.push((kind, owner, pause(true), pause(false)));
    }
    for (kind, owner, on, off) in ways {
        scene.change(kind, owner, on).await?;
        left_alone(&scene, &machine).await?;
        scene.change(kind, owner, off).await?;
        scene.until_asked(&machine, true).await?;
    }
    Ok(())
}

#[tokio::test]
async fn paused_deployment_withdraws_requests_until_it_is_resumed() -> Result<()> {
    let labels = json!({ names::DEPLOYMENT_LABEL: "w" });
    pauses("paused-workers", ("MachineDeployment", "w"), labels).await
}

#[tokio::test]
async fn paused_control_plane_withdraws_requests_until_it_is_resumed() -> Result<()> {
    let labels = json!({ names::CONTROL_PLANE_LABEL: "" });
    pauses("paused-owner", ("KubeadmControlPlane", "owner"), labels).await
}
