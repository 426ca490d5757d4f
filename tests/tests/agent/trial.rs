//! What the agent does in a trial.

use anyhow::Result;
use careen_tests::machine::{Fault, NEW_IMAGE};
use careen_tests::node::annotation;
use careen_tests::scene::Scene;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use upgrade::observe::Check;
use upgrade::{Reason, names};

/// A node on trial on which kubeadm failed once and then succeeded, so that the agent restarted the
/// kubelet. The kubelet has not reported since.
async fn kubelet_restarted_in_the_trial(word: &str) -> Result<Scene> {
    let mut scene = Scene::new(word).await?;
    let detail = "no answer".to_owned();
    let fails = Fault::Fails(Reason::KubeadmFailed { detail });
    scene.machine.fault("Kubeadm", Some(fails));
    let not_yet = Check::Fail("not yet".to_owned());
    scene.machine.set_local(|local| local.kubeadm = not_yet);
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let says = |node: &Node| annotation(node, names::STATUS).contains("KubeadmFailed");
    scene.node.until("kubeadm fails", &says).await?;
    scene.machine.fault("Kubeadm", None);
    let gone = |node: &Node| !annotation(node, names::STATUS).contains("KubeadmFailed");
    scene.node.until("kubeadm has succeeded", &gone).await?;
    Ok(scene)
}

#[tokio::test]
async fn a_kubeadm_that_succeeds_in_the_trial_is_run_once() -> Result<()> {
    let scene = kubelet_restarted_in_the_trial("kubeadm").await?;
    let times = scene.machine.times("Kubeadm");
    scene.kubelet_registers().await?;
    scene.node.until_answered("Upgraded").await?;
    assert_eq!(scene.machine.times("Kubeadm"), times);
    Ok(())
}

/// During the restart the Node stays Ready for a while, because the kubelet reported that before
/// the restart.
#[tokio::test]
async fn kubelet_silent_after_its_restart_fails_the_trial() -> Result<()> {
    let mut scene = kubelet_restarted_in_the_trial("silent").await?;
    scene.machine.pass_seconds(4000);
    scene
        .node
        .label(json!({ "somebody": "wakes-the-agent" }))
        .await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Failed").await?;
    let why = annotation(&node, names::FAILURE_REASON);
    assert!(why.contains("not reported since its restart"), "{why}");
    assert_eq!(scene.machine.times("Bless"), 0);
    Ok(())
}
