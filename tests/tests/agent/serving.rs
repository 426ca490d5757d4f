//! A trial is compared with the node before its drain, by what a real API server has of it.

use anyhow::Result;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::annotation;
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use serde_json::{Value, json};
use upgrade::names;

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

/// A node whose network plugin ran before the drain, in its trial.
async fn in_trial(word: &str) -> Result<(Scene, Namespace)> {
    let mut scene = Scene::new(word).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("cni", Namespace::owned_by_a_daemonset()).await?;
    pods.set_status("cni", runs("0123456789ab")).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    Ok((scene, pods))
}

#[tokio::test]
async fn trial_passes_once_the_daemon_pod_runs_again() -> Result<()> {
    let (scene, pods) = in_trial("serves").await?;
    scene.kubelet_registers().await?;
    pods.set_status("cni", runs("ba9876543210")).await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn trial_fails_while_a_daemon_pod_does_not_start() -> Result<()> {
    let (mut scene, pods) = in_trial("starves").await?;
    scene.kubelet_registers().await?;
    pods.set_status("cni", waits()).await?;
    scene.machine.pass_seconds(4000);
    let woken = json!({ "somebody": "wakes-the-agent" });
    scene.node.label(woken).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Failed").await?;
    let why = annotation(&node, names::FAILURE_REASON);
    let missing = format!("DaemonSet pod {}/d was Ready before the drain", pods.name);
    assert!(why.contains(&missing), "{why}");
    assert!(why.contains("ContainerCreating"), "{why}");
    assert_eq!(scene.machine.times("Bless"), 0);
    Ok(())
}
