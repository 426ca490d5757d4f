//! The new system's containerd is newer too, and has run pods on the old one's state in /var. Then
//! a check fails: the old system is Ready, and its containerd runs the pods again on the state that
//! the newer one left.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::{Api, PostParams};

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "newer-containerd-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["newer-containerd"],
    run: |rig| Box::pin(run(rig)),
};

/// One failure counts, however long the pods took.
const POLICY: &str = "[health]\ncheck-seconds = 600\ncheck-tries = 1";
/// The operator's own check, because the image itself is good. /etc goes along with the new system,
/// and so does the check.
const CHECK: &str = r"mkdir -p /etc/careen/required.d && printf '#!/bin/sh\nuntil [ -e /run/careen-rig/pods-ran ]; do sleep 0.5; done\necho the rig says no\nexit 1\n' >/etc/careen/required.d/50-rig && chmod 755 /etc/careen/required.d/50-rig";
const PODS_RAN: &str = "mkdir -p /run/careen-rig && touch /run/careen-rig/pods-ran";
const VERSION: &str = "containerd --version | cut -d' ' -f3";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("newer-containerd")?;
    let before = rig.before().await?;
    rig.policy(POLICY).await?;
    rig.guest.run(CHECK).await?;
    let client = rig.plane.client().await?;
    run_on_every_node(&client).await?;
    pods_run(rig, 2).await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;

    let version = rig.guest.run(VERSION).await?;
    ensure!(
        version.starts_with("2."),
        "the trial's containerd is {version}"
    );
    pods_run(rig, 1).await?;
    rig.guest.run(PODS_RAN).await?;

    let view = rig.expect_fallback(&before, &["UserCheck"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("the rig says no"),
        "it went back before its containerd had run pods: {reason}"
    );
    pods_run(rig, 2).await?;
    workload::wait_until_running(&client, 5 * MINUTE).await?;
    rig.expect_one_trial()
}

/// A pod that no drain evicts and no cordon keeps away.
async fn run_on_every_node(client: &kube::Client) -> Result<()> {
    let labels = json!({"app": "everywhere"});
    let set: DaemonSet = serde_json::from_value(json!({
        "metadata": {"name": "everywhere"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "automountServiceAccountToken": false,
                    "containers": [{
                        "name": "everywhere",
                        "image": "localhost/busybox:rig",
                        "imagePullPolicy": "Never",
                        "command": ["sleep", "infinity"],
                    }],
                },
            },
        },
    }))?;
    let api: Api<DaemonSet> = Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &set).await?;
    Ok(())
}

/// Waits until this many pods run, as this boot's containerd sees them. Each pod has one container,
/// and one for its sandbox.
async fn pods_run(rig: &mut Rig, pods: usize) -> Result<()> {
    let tasks = 2 * pods;
    let running = "ctr -n k8s.io tasks ls 2>/dev/null | grep -c RUNNING";
    rig.wait_guest(&format!(
        "until [ $({running}) -ge {tasks} ]; do sleep 2; done"
    ))
    .await?;
    rig.progress.step(&format!("pods run: {pods}"));
    Ok(())
}
