//! A node that looks like a control plane has an /etc/kubernetes in its deployment, and the agent
//! refuses it with the command that shares the folder. The command is run, the power is cut at
//! once, and the node comes back with the shared folder. It is a worker again and is upgraded: the
//! trial reads the shared folder too, and no deployment has a copy of its own.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "one-kubernetes-folder-for-all-deployments",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The kubelet starts no pod from an empty manifest.
const MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";

/// Fails unless both paths are one folder, and every deployment's own folder is empty.
const SHARED: &str = "test /etc/kubernetes -ef /var/lib/careen/kubernetes && test -s /etc/kubernetes/kubelet.conf && test -z \"$(find /sysroot/ostree/deploy/*/deploy/*/etc/kubernetes -mindepth 1)\"";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    rig.policy("[control-plane]\nenabled = true").await?;
    let manifest = format!("install -D -m 0600 /dev/null {MANIFEST}");
    rig.guest.run(&manifest).await?;
    rig.ask_raw(&image.pinned()).await?;
    let view = rig
        .expect_failed(&["KubernetesNotShared"], 5 * MINUTE)
        .await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("doctor --fix"),
        "no way out is told: {reason}"
    );
    rig.withdraw().await?;

    rig.progress
        .step("sharing the folder, then cutting the power");
    fix(rig).await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    // The rig's channel answers before the mounts are there, and the kubelet is active before it
    // listens. The doctor calls a kubelet that does not listen bad.
    rig.wait_guest("until curl -sf http://127.0.0.1:10248/healthz; do sleep 1; done")
        .await?;
    let told = fix(rig).await?;
    ensure!(
        told.contains("ok    kubernetes"),
        "nothing uses the old folder after a boot: {told}"
    );
    rig.guest.run(SHARED).await?;

    rig.progress
        .step("a worker again, upgraded with the shared folder");
    rig.guest.run(&format!("rm {MANIFEST}")).await?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    rig.guest.run(SHARED).await.map(drop)
}

/// The checks end with 4: the node can be upgraded, and a virtual machine has things to check.
async fn fix(rig: &mut Rig) -> Result<String> {
    let command = "/usr/libexec/careen/careen-agent doctor --fix --offline 2>&1; test $? = 4";
    let told = rig.guest.run_within(command, 5 * MINUTE).await?;
    ensure!(told.contains("All deployments share"), "{told}");
    Ok(told)
}
