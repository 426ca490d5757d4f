//! A node has programs, checks, users, a kubelet's setting and a cordon of its own, and upgrades to
//! an image with the kernel that it runs. An old kubeadm in /usr/local, which outlives every image
//! and fails, does not run instead of the image's own. A required check that looks at the kernel's
//! modules sees them under the agent. In `wanted.d`, a check that fails and one that hangs neither
//! change nor delay the verdict. The setting is refused before the drain until a patch of the node
//! keeps it. The image adds users with the id of the node's own, and all of them are in the new
//! system. The node's pods tolerate every taint and come back at once, and the drain ends all the
//! same. The upgrade does not remove a cordon that is not its own.

use super::prelude::*;
use rig::images::Commit;

use anyhow::Context;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "what-a-node-has-of-its-own-spoils-no-upgrade",
    core: false,
    disk: DiskKind::Bios,
    images: &["new-users"],
    run: |rig| Box::pin(run(rig)),
};

/// One failure counts. The hanging check may run much longer than a trial takes to its verdict. A
/// verdict that waited for it would come too late.
const POLICY: &str =
    "trials = 1\n[drain]\ndeadline-seconds = 60\n[health]\ncheck-seconds = 150\ncheck-tries = 1";

/// Programs that careen-agent and careen-deploy start, placed in the first folder of systemd's own
/// PATH. Each leaves a note.
const OLD: &str = "umask 022; mkdir -p /var/usrlocal/bin; for name in kubeadm setpriv skopeo; do \
    printf '%s\\n' '#!/bin/sh' 'echo \"$0\" >>/var/lib/ran-from-local' 'exit 1' >/usr/local/bin/$name; \
    chmod 755 /usr/local/bin/$name; done";

/// A check that passes in any root shell.
const CHECK: &str = "umask 022; mkdir -p /etc/careen/required.d; file=/etc/careen/required.d/40-modules; \
    printf '%s\\n' '#!/bin/sh' 'set -e' 'modinfo overlay >/dev/null' 'test -s /usr/lib/modules/$(uname -r)/modules.dep' \
    'touch /var/lib/modules-were-seen' >$file; chmod 755 $file; $file && rm /var/lib/modules-were-seen";

const SEEN: &str =
    "test -e /var/lib/modules-were-seen && test ! -e /var/lib/ran-from-local && echo well";

/// A setting of the kubelet, and the patch that keeps it.
const OWN: &str = "echo 'maxPods: 42' >>/var/lib/kubelet/config.yaml; systemctl restart kubelet";
const PATCH: &str = "umask 022; mkdir -p /etc/kubernetes/patches; \
    echo 'maxPods: 42' >/etc/kubernetes/patches/kubeletconfiguration0+merge.yaml";
const KEPT: &str = "grep -x 'maxPods: 42' /var/lib/kubelet/config.yaml";

const ADD: &str = "useradd -r probe && id -u probe";
const USERS: &str =
    "for name in probe rig-etc rig-sysusers; do id -u $name; done | sort -u | wc -l";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("new-users")?;
    rig.policy(POLICY).await?;
    let probe = rig.guest.run(ADD).await?;
    rig.guest.run(OLD).await?;
    rig.guest.run(CHECK).await?;
    wanted(rig, "10-doubt", "echo the rig doubts; exit 1").await?;
    wanted(rig, "20-hang", "sleep infinity").await?;
    let kernel = rig.guest.run("uname -r").await?;
    rig.before().await?;
    refused_without_a_patch(rig, &image).await?;
    let client = rig.plane.client().await?;
    workload::tolerate_everything(&client).await?;
    workload::wait_until_running(&client, MINUTE).await?;
    rig.patch(json!({"spec": {"unschedulable": true}})).await?;
    rig.progress
        .step("asking again, with a patch that keeps it");
    rig.annotate(&[(names::UPGRADE_ID, Some("with-a-patch"))])
        .await?;
    let view = rig.wait_answer(Answer::Upgraded, UPGRADE).await?;
    ensure!(!view.schedulable, "the foreign cordon was lifted");
    expect_wanted_checks_decided_nothing(rig).await?;
    rig.expect_runs(&image.digest).await?;
    rig.expect_disarmed().await?;
    expect_own_programs(rig).await?;
    let kept = rig.guest.run(KEPT).await.unwrap_or_default();
    ensure!(!kept.is_empty(), "the kubelet's setting is gone");
    expect_users(rig, &probe).await?;
    expect_same_kernel(rig, &kernel).await
}

/// The kubelet's setting is named, and the node keeps its pods.
async fn refused_without_a_patch(rig: &mut Rig, image: &Commit) -> Result<()> {
    rig.guest.run(OWN).await?;
    rig.wait_guest("until curl -sf http://127.0.0.1:10248/healthz; do sleep 1; done")
        .await?;
    rig.ask(image).await?;
    let view = rig.expect_failed(&["KubeletSettings"], 5 * MINUTE).await?;
    let reason = view.reason.clone().unwrap_or_default();
    let named = "maxPods is 42 and would be unset";
    ensure!(reason.contains(named), "the setting is not named: {reason}");
    ensure!(view.schedulable, "the node was cordoned");
    rig.guest.run(PATCH).await?;
    rig.expect_a_new_answer();
    Ok(())
}

/// /etc goes along with the new system, and so does the check.
async fn wanted(rig: &mut Rig, name: &str, script: &str) -> Result<()> {
    let file = format!("/etc/careen/wanted.d/{name}");
    let lay = format!(
        "umask 022; mkdir -p /etc/careen/wanted.d; printf '%s\\n' '#!/bin/sh' '{script}' >{file}; chmod 755 {file}"
    );
    rig.guest.run(&lay).await.map(drop)
}

/// The verdict came while one of them still hung, and the journal says that the other failed.
async fn expect_wanted_checks_decided_nothing(rig: &mut Rig) -> Result<()> {
    rig.guest
        .run("pgrep -f '[2]0-hang'")
        .await
        .context("the hanging check had ended before the verdict, so nothing was shown")?;
    rig.wait_guest(
        "until journalctl --quiet --boot --unit careen-agent --grep 'wanted check 10-doubt failed .*: the rig doubts' | grep -q .; do sleep 1; done",
    )
    .await
}

async fn expect_own_programs(rig: &mut Rig) -> Result<()> {
    let seen = rig.guest.run(SEEN).await.unwrap_or_default();
    ensure!(
        seen.trim() == "well",
        "the check did not see the modules, or a program of /usr/local was run"
    );
    Ok(())
}

/// The users of both sides are there, each with an id of its own.
async fn expect_users(rig: &mut Rig, probe: &str) -> Result<()> {
    let users = rig.guest.run(USERS).await?;
    ensure!(users.trim() == "3", "users are missing or share an id");
    let now = rig.guest.run("id -u probe").await?;
    ensure!(now == probe, "the node's own user has another id");
    Ok(())
}

/// Both deployments share kernel and initramfs, so their boot entries differ only in the
/// deployment.
async fn expect_same_kernel(rig: &mut Rig, kernel: &str) -> Result<()> {
    rig.node
        .wait("the new kubelet", MINUTE, |view| view.kubelet == "v1.36.3")
        .await?;
    let now = rig.guest.run("uname -r").await?;
    ensure!(now == kernel, "the kernel changed to {now}");
    Ok(())
}
