//! A trial is compared with the node before its drain, by what a real API server has of it.

use std::time::Duration;

use anyhow::Result;
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::{Fault, NEW_IMAGE, PODS, SERVES};
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::storage::v1::CSINode;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use upgrade::{Reason, names};

/// The status of a pod whose container has this id.
fn runs(id: &str) -> Value {
    let state = json!({ "running": { "startedAt": "2026-11-28T20:00:00Z" } });
    status("True", id, &state)
}

/// The status of a pod whose sandbox does not start.
fn waits() -> Value {
    status(
        "False",
        "",
        &json!({ "waiting": { "reason": "ContainerCreating" } }),
    )
}

fn status(ready: &str, id: &str, state: &Value) -> Value {
    json!({
        "phase": "Running",
        "conditions": [{ "type": "Ready", "status": ready }],
        "containerStatuses": [{
            "name": "c", "image": "i", "imageID": "i", "ready": ready == "True", "restartCount": 0,
            "containerID": format!("containerd://{id}"), "state": state,
        }],
    })
}

/// A static pod, as its kubelet shows it. The garbage collector would delete a pod of a DaemonSet
/// that does not exist.
fn static_pod() -> Value {
    json!({ "metadata": { "annotations": { "kubernetes.io/config.mirror": "h" } } })
}

/// A node whose network plugin ran before the drain, in its trial.
async fn in_trial(word: &str) -> Result<(Scene, Namespace)> {
    let mut scene = Scene::new(word).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("cni", static_pod()).await?;
    pods.set_status("cni", runs("0123456789ab")).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    into_trial(&mut scene).await?;
    Ok((scene, pods))
}

/// Before the agent has the Node, hours that pass look like a server that is away.
async fn into_trial(scene: &mut Scene) -> Result<()> {
    scene.reboot().await?;
    let in_trial = |node: &Node| annotation(node, names::STATUS).contains("\"phase\":\"Trial\"");
    scene.node.until("the trial is reported", &in_trial).await?;
    Ok(())
}

#[tokio::test]
async fn trial_passes_once_the_nodes_own_pod_runs_again() -> Result<()> {
    let (scene, pods) = in_trial("serves").await?;
    scene.kubelet_registers().await?;
    pods.set_status("cni", runs("ba9876543210")).await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn trial_fails_while_the_nodes_own_pod_does_not_start() -> Result<()> {
    let (mut scene, pods) = in_trial("starves").await?;
    scene.kubelet_registers().await?;
    pods.set_status("cni", waits()).await?;
    scene.machine.pass_seconds(4000);
    let woken = json!({ "somebody": "wakes-the-agent" });
    scene.node.label(woken).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Failed").await?;
    let why = annotation(&node, names::FAILURE_REASON);
    let missing = format!("static pod {}/cni was Ready before the drain", pods.name);
    assert!(why.contains(&missing), "{why}");
    assert_eq!(scene.machine.times("Bless"), 0);
    Ok(())
}

/// Registers these CSI drivers, as the node's kubelet does.
async fn register(scene: &Scene, drivers: &[&str]) -> Result<()> {
    let nodes: Api<CSINode> = Api::all(scene.node.admin.clone());
    let name = &scene.node.name;
    let drivers = drivers
        .iter()
        .map(|name| json!({ "name": name, "nodeID": "n" }));
    let node = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": { "name": name },
        "spec": { "drivers": drivers.collect::<Vec<_>>() },
    });
    let params = PatchParams::apply("kubelet").force();
    nodes.patch(name, &params, &Patch::Apply(node)).await?;
    Ok(())
}

#[tokio::test]
async fn trial_fails_while_a_csi_driver_is_not_registered() -> Result<()> {
    let mut scene = Scene::new("drivers").await?;
    register(&scene, &["disk.example"]).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    tokio::time::timeout(PATIENCE, scene.machine.until_down()).await?;
    register(&scene, &[]).await?;
    scene.power_cycle()?;
    scene.kubelet_registers().await?;
    let in_trial = |node: &Node| annotation(node, names::STATUS).contains("\"phase\":\"Trial\"");
    scene.node.until("the trial is reported", &in_trial).await?;
    scene.machine.pass_seconds(4000);
    let woken = json!({ "somebody": "wakes-the-agent" });
    scene.node.label(woken).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Failed").await?;
    let why = annotation(&node, names::FAILURE_REASON);
    assert!(
        why.contains("CSI driver disk.example was registered"),
        "{why}"
    );
    Ok(())
}

#[tokio::test]
async fn node_that_starts_no_pod_is_not_cordoned() -> Result<()> {
    let mut scene = Scene::new("podless").await?;
    let refused = Reason::UnhealthyBefore {
        check: "pod sandbox".to_owned(),
        detail: "pause:9.9: no such host".to_owned(),
    };
    scene.machine.fault(PODS, Some(Fault::Fails(refused)));
    scene.node.ask_for(NEW_IMAGE).await?;
    let node = scene.node.until_answered("Failed").await?;
    let why = annotation(&node, names::FAILURE_REASON);
    assert!(why.contains("pause:9.9: no such host"), "{why}");
    assert!(!is_cordoned(&node) && scene.machine.times("Deploy") == 0);
    scene.machine.fault(PODS, None);
    let again = json!({ names::UPGRADE_ID: "with-a-pause-image" });
    scene.node.annotate(again).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

/// Longer than the pause between two looks of a note.
const LOOKED: Duration = Duration::from_secs(6);

#[tokio::test]
async fn pod_that_is_ready_for_a_moment_before_the_drain_is_compared() -> Result<()> {
    let mut scene = Scene::new("blinks").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("cni", static_pod()).await?;
    pods.set_status("cni", waits()).await?;
    scene.machine.fault(SERVES, Some(Fault::Held));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Deploy", 0).await;
    tokio::time::sleep(LOOKED).await;
    pods.set_status("cni", runs("0123456789ab")).await?;
    tokio::time::sleep(LOOKED).await;
    pods.set_status("cni", waits()).await?;
    scene.machine.fault(SERVES, None);
    into_trial(&mut scene).await?;
    scene.kubelet_registers().await?;
    scene.machine.pass_seconds(4000);
    let woken = json!({ "somebody": "wakes-the-agent" });
    scene.node.label(woken).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Failed").await?;
    let why = annotation(&node, names::FAILURE_REASON);
    assert!(why.contains("was Ready before the drain"), "{why}");
    Ok(())
}
