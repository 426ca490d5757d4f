//! One volume of the driver, the pod that uses it, and the controller's side of it: what
//! external-attacher does (kubernetes-csi/external-attacher).

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::{CSIDriver, VolumeAttachment};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Client, Resource};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::NAME;
use crate::node;
use crate::patience::within;
use crate::workload::UNTIL_STOPPED;

/// The volume's name at the driver.
pub const HANDLE: &str = "shelf-7";

/// The name of the pod, of its claim and of the volume.
const POD: &str = "database";

/// Keeps an attachment until the driver has detached the volume.
const FINALIZER: &str = "external-attacher/csi-rig-example";

const PATIENCE: Duration = Duration::from_secs(300);

/// Creates driver, volume, claim and pod. Returns the pod's UID.
///
/// # Errors
///
/// Fails when the API server refuses.
pub async fn create(client: &Client) -> Result<String> {
    let (size, modes) = (json!({"storage": "1Gi"}), json!(["ReadWriteOnce"]));
    let driver: CSIDriver = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {"attachRequired": true, "fsGroupPolicy": "None"},
    }))?;
    let volume: PersistentVolume = serde_json::from_value(json!({
        "metadata": {"name": POD},
        "spec": {
            "capacity": size,
            "accessModes": modes,
            "claimRef": {"namespace": "default", "name": POD},
            "csi": {"driver": NAME, "volumeHandle": HANDLE},
        },
    }))?;
    let claim: PersistentVolumeClaim = serde_json::from_value(json!({
        "metadata": {"name": POD},
        "spec": {
            "volumeName": POD,
            "storageClassName": "",
            "accessModes": modes,
            "resources": {"requests": size},
        },
    }))?;
    let now = PostParams::default();
    Api::all(client.clone()).create(&now, &driver).await?;
    Api::all(client.clone()).create(&now, &volume).await?;
    let claims = Api::default_namespaced(client.clone());
    claims.create(&now, &claim).await?;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let pod = pods.create(&now, &serde_json::from_value(pod())?).await?;
    pod.metadata.uid.context("the pod has no UID")
}

fn pod() -> Value {
    json!({
        "metadata": {"name": POD},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": false,
            "containers": [{
                "name": POD,
                "image": "localhost/busybox:rig",
                "imagePullPolicy": "Never",
                "command": UNTIL_STOPPED,
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": POD}}],
        },
    })
}

/// The folder on the node that a driver mounts its volume on for the pod.
#[must_use]
pub fn folder(uid: &str) -> String {
    format!("/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~csi/{POD}/mount")
}

/// Waits until the cluster demands the volume on the node, and attaches it.
///
/// # Errors
///
/// Fails when the cluster does not demand it, or the API server refuses.
pub async fn attach(client: &Client) -> Result<()> {
    let api: Api<VolumeAttachment> = Api::all(client.clone());
    let there = |found: Option<&VolumeAttachment>| found.is_some();
    within(PATIENCE, await_condition(api.clone(), &attachment(), there))
        .await
        .context("nobody demands that the volume is attached")??;
    let keep = json!({"metadata": {"finalizers": [FINALIZER]}});
    patch(&api, &keep).await?;
    let attached = Patch::Merge(json!({"status": {"attached": true}}));
    api.patch_status(&attachment(), &PatchParams::default(), &attached)
        .await?;
    Ok(())
}

/// Waits until the pod runs.
///
/// # Errors
///
/// Fails when it does not in time.
pub async fn runs(client: &Client) -> Result<()> {
    let api: Api<Pod> = Api::default_namespaced(client.clone());
    let runs = |pod: Option<&Pod>| {
        let status = pod.and_then(|pod| pod.status.as_ref());
        status.is_some_and(|status| status.phase.as_deref() == Some("Running"))
    };
    within(PATIENCE, await_condition(api, POD, runs))
        .await
        .context("the pod with the volume does not run")??;
    Ok(())
}

/// Waits until the cluster demands that the driver detaches the volume. The driver may take its
/// time from then on.
///
/// # Errors
///
/// Fails when the cluster does not demand it in time.
pub async fn detach_demanded(client: &Client, limit: Duration) -> Result<()> {
    let api: Api<VolumeAttachment> = Api::all(client.clone());
    let demanded = |found: Option<&VolumeAttachment>| {
        found.is_some_and(|found| found.meta().deletion_timestamp.is_some())
    };
    within(limit, await_condition(api, &attachment(), demanded))
        .await
        .context("nobody demands that the volume is detached")??;
    Ok(())
}

/// The driver has detached the volume.
///
/// # Errors
///
/// Fails when the API server refuses.
pub async fn detach(client: &Client) -> Result<()> {
    let free = json!({"metadata": {"finalizers": null}});
    patch(&Api::all(client.clone()), &free).await
}

async fn patch(api: &Api<VolumeAttachment>, change: &Value) -> Result<()> {
    let change = Patch::Merge(change);
    api.patch(&attachment(), &PatchParams::default(), &change)
        .await?;
    Ok(())
}

/// The attachment's name (kubernetes, pkg/volume/csi, `getAttachmentName`).
fn attachment() -> String {
    let digest = Sha256::digest(format!("{HANDLE}{NAME}{}", node::NAME));
    format!("csi-{digest:x}")
}
