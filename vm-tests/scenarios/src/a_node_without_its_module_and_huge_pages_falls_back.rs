//! The Node is Ready in the new system, and serves less than before: the image lacks a kernel
//! module that the node's network plugin loads, and the kernel of this boot reserves no huge pages.
//! The trial fails, and the Node names the plugin's pod and the resource. Under the old system the
//! plugin runs again.

use super::prelude::*;
use anyhow::Context;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, PostParams};
use kube::runtime::wait::await_condition;

use rig::node;
use rig::patience::within;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-node-without-its-module-and-huge-pages-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-vxlan"],
    run: |rig| Box::pin(run(rig)),
};

/// The DaemonSet of the network plugin, in the namespace `default`.
const PLUGIN: &str = "overlay-network";

/// The host's modprobe, in a root that consists of the host's /usr. The programs in /usr find their
/// libraries by the two links.
const LOAD: &str = "busybox ln -sfn usr/lib /host/lib && busybox ln -sfn usr/lib64 /host/lib64 && exec busybox chroot /host /usr/sbin/modprobe vxlan";

/// The kubelet reads the kernel's huge pages when it starts.
const RESERVE: &str = "set -e; echo 8 >/proc/sys/vm/nr_hugepages; grep -qx 'HugePages_Total: *8' /proc/meminfo; systemctl restart kubelet";
const RESOURCE: &str = "hugepages-2Mi";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-vxlan")?;
    rig.guest.run(RESERVE).await?;
    offers_huge_pages(rig).await?;
    install_plugin(rig).await?;
    plugin_is_ready(rig).await?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 240").await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["ServesLess"]).await?;
    let reason = view.reason.unwrap_or_default();
    for named in [
        format!("DaemonSet pod default/{PLUGIN}"),
        format!("resource {RESOURCE} was 16Mi"),
    ] {
        ensure!(reason.contains(&named), "no {named:?} in: {reason}");
    }
    plugin_is_ready(rig).await
}

async fn offers_huge_pages(rig: &Rig) -> Result<()> {
    let api: Api<Node> = Api::all(rig.plane.client().await?);
    let offers = |node: Option<&Node>| {
        let status = node.and_then(|node| node.status.as_ref());
        let allocatable = status.and_then(|status| status.allocatable.as_ref());
        allocatable.is_some_and(|all| all.get(RESOURCE).is_some_and(|much| much.0 == "16Mi"))
    };
    let wait = await_condition(api, node::NAME, offers);
    within(5 * MINUTE, wait)
        .await
        .context("the Node does not offer the huge pages")??;
    Ok(())
}

async fn plugin_is_ready(rig: &Rig) -> Result<()> {
    let api: Api<DaemonSet> = Api::default_namespaced(rig.plane.client().await?);
    let ready = |found: Option<&DaemonSet>| {
        let status = found.and_then(|found| found.status.as_ref());
        status.is_some_and(|status| status.number_ready == 1)
    };
    within(5 * MINUTE, await_condition(api, PLUGIN, ready))
        .await
        .context("the plugin's pod is not Ready")??;
    Ok(())
}

/// Its init container loads the module, as those of network plugins do.
async fn install_plugin(rig: &Rig) -> Result<()> {
    rig.progress.step("installing a network plugin");
    let container = |name: &str, command: &[&str]| {
        json!({
            "name": name,
            "image": "localhost/busybox:rig",
            "imagePullPolicy": "Never",
            "command": command,
        })
    };
    let mut modules = container("modules", &["sh", "-c", LOAD]);
    modules["securityContext"] = json!({"privileged": true});
    modules["volumeMounts"] = json!([
        {"name": "root", "mountPath": "/host"},
        {"name": "usr", "mountPath": "/host/usr", "readOnly": true},
    ]);
    let plugin = serde_json::from_value(json!({
        "metadata": {"name": PLUGIN},
        "spec": {
            "selector": {"matchLabels": {"app": PLUGIN}},
            "template": {
                "metadata": {"labels": {"app": PLUGIN}},
                "spec": {
                    "hostNetwork": true,
                    "terminationGracePeriodSeconds": 1,
                    "automountServiceAccountToken": false,
                    "initContainers": [modules],
                    "containers": [container("plugin", &workload::UNTIL_STOPPED)],
                    "volumes": [
                        {"name": "root", "emptyDir": {}},
                        {"name": "usr", "hostPath": {"path": "/usr"}},
                    ],
                },
            },
        },
    }))?;
    let api: Api<DaemonSet> = Api::default_namespaced(rig.plane.client().await?);
    api.create(&PostParams::default(), &plugin).await?;
    Ok(())
}
