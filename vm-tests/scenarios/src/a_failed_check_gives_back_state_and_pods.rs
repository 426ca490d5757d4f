//! The new system's kubelet and containerd are newer, and have run pods on the old ones' state in
//! /var. Then the operator's own check fails, and its last line is the reason. The old system is
//! Ready, and its containerd runs the pods again on the state that the newer one left.
//!
//! The agent cannot restore the saved state that the trial changed at first. It keeps the copy,
//! refuses another request meanwhile, and restores the state in the next boot that can.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::{Api, PostParams};
use rig::images::Commit;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-failed-check-gives-back-state-and-pods",
    core: false,
    disk: DiskKind::Bios,
    images: &["newer-containerd", "v2"],
    run: |rig| Box::pin(run(rig)),
};

/// One failure counts, however long the pods took.
const POLICY: &str = "[health]\ncheck-seconds = 600\ncheck-tries = 1";
/// The operator's own check, because the image itself is good. /etc goes along with the new system,
/// and so does the check. It passes on the old system, which rehearses it.
const CHECK: &str = r"mkdir -p /etc/careen/required.d && printf '#!/bin/sh\ngrep -qw careen.trial=1 /proc/cmdline || exit 0\nuntil [ -e /run/careen-rig/pods-ran ]; do sleep 0.5; done\necho the rig says no\nexit 1\n' >/etc/careen/required.d/50-rig && chmod 755 /etc/careen/required.d/50-rig";
const PODS_RAN: &str = "mkdir -p /run/careen-rig && touch /run/careen-rig/pods-ran";
const VERSION: &str = "containerd --version | cut -d' ' -f3";

/// State of an app that an older version could not read after a newer one.
const SAVED: &str = "mkdir -p /etc/careen/snapshot.d /var/lib/rig && echo /var/lib/rig/state > /etc/careen/snapshot.d/rig && echo old > /var/lib/rig/state && sync";
/// In the trial, changes the state and makes it immutable. The test channel comes up early in a
/// boot, before /var is mounted.
const HELD: &str = "until [ -e /var/lib/rig/state ]; do sleep 0.2; done; echo new > /var/lib/rig/state && chattr +i /var/lib/rig/state && sync";
const STATE: &str = "cat /var/lib/rig/state";
/// The state that is kept for the old system.
const KEPT: &str = "ls -d /sysroot/ostree/careen/snapshot-* 2>/dev/null | wc -l";
const REPAIR: &str = "chattr -i /var/lib/rig/state && sync";
const REBOOT: &str = "systemctl --no-block reboot";

async fn run(rig: &mut Rig) -> Result<()> {
    let (image, other) = (rig.image("newer-containerd")?, rig.image("v2")?);
    rig.guest.run(SAVED).await?;
    rig.policy(POLICY).await?;
    rig.guest.run(CHECK).await?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    run_on_every_node(&client).await?;
    pods_run(rig, 2).await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    rig.guest.run(HELD).await?;
    rig.progress.step("a file cannot be put back");
    newer_one_runs_pods(rig).await?;
    let view = rig.expect_fallback(&before, &["UserCheck"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("the rig says no"),
        "the words of the check are lost, or it never ran: {reason}"
    );
    pods_run(rig, 2).await?;
    workload::wait_until_running(&client, 5 * MINUTE).await?;
    rig.expect_one_trial()?;
    state_is_owed(rig, &other).await?;
    comes_back(rig, &before).await
}

/// The check fails only after that.
async fn newer_one_runs_pods(rig: &mut Rig) -> Result<()> {
    let version = rig.guest.run(VERSION).await?;
    ensure!(
        version.starts_with("2."),
        "the trial's containerd is {version}"
    );
    pods_run(rig, 1).await?;
    rig.guest.run(PODS_RAN).await.map(drop)
}

async fn state_is_owed(rig: &mut Rig, other: &Commit) -> Result<()> {
    expect_state(rig, "new", "1").await?;
    rig.ask(other).await?;
    let view = rig.expect_failed(&["StateOwed"], 2 * MINUTE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("/var/lib/rig/state"),
        "what could not be put back is not named: {reason}"
    );
    expect_state(rig, "new", "1").await
}

/// Removes the obstacle and boots the node once more.
async fn comes_back(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.guest.run(REPAIR).await?;
    let boot = rig.boot_id().await?;
    rig.guest.run(REBOOT).await?;
    rig.wait_boot(Some(&boot)).await?;
    // Ready in this boot: its kubelet waited until the state was restored.
    rig.expect_old_system(before).await?;
    expect_state(rig, "old", "0").await
}

/// Checks the app's state and the number of copies that are kept for the old system.
async fn expect_state(rig: &mut Rig, state: &str, kept: &str) -> Result<()> {
    let found = rig.guest.run(STATE).await?;
    ensure!(
        found.trim() == state,
        "the state is {found:?}, not {state:?}"
    );
    let copies = rig.guest.run(KEPT).await?;
    ensure!(
        copies.trim() == kept,
        "{copies:?} snapshots are there, not {kept}"
    );
    Ok(())
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
                        "command": workload::UNTIL_STOPPED,
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
