//! /usr/local outlives every image. An old kubeadm there, which fails, does not run instead of the
//! image's own. A required check that looks at the kernel's modules sees them under the agent. The
//! image is good, and it is blessed.
//!
//! The kubelet has a setting that only this node has. It is refused before the cordon, and outlasts
//! the upgrade when a patch keeps it.

use super::prelude::*;
use crate::images::Commit;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-old-kubeadm-in-usr-local-condemns-no-image",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2-same-kernel"],
    run: |rig| Box::pin(run(rig)),
};

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

/// Without the patch the request is refused, and the node keeps its pods.
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
    rig.annotate(&[(names::UPGRADE_ID, Some("with-a-patch"))])
        .await
}

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2-same-kernel")?;
    rig.policy("trials = 1").await?;
    rig.guest.run(OLD).await?;
    rig.guest.run(CHECK).await?;
    let before = rig.before().await?;
    refused_without_a_patch(rig, &image).await?;
    rig.expect_upgraded(&before, &image).await?;
    let kept = rig.guest.run(KEPT).await.unwrap_or_default();
    ensure!(!kept.is_empty(), "the kubelet's setting is gone");
    let seen = rig.guest.run(SEEN).await.unwrap_or_default();
    ensure!(
        seen.trim() == "well",
        "the check did not see the modules, or a program of /usr/local was run"
    );
    Ok(())
}
