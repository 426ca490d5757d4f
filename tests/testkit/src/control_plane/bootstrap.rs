//! The objects that `kubeadm init` creates in a new cluster, so that nodes can join and upgrade.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use super::credentials;
use super::folder::{Folder, HOST_SEEN_FROM_GUEST};

/// The administrator's permissions, the uploaded configuration, the bootstrap token and
/// cluster-info.
pub async fn run(folder: &Folder) -> Result<()> {
    bind_administrators(folder).await?;
    let config = folder.dir.join("upload.yaml").display().to_string();
    let kubeconfig = folder.kubeconfig("admin").display().to_string();
    let phase = |names: &[&str]| {
        let arguments = [
            &["init", "phase"],
            names,
            &["--config", &config, "--kubeconfig", &kubeconfig],
        ]
        .concat();
        folder.kubeadm(&arguments)
    };
    phase(&["upload-config", "kubeadm"])?;
    phase(&["upload-config", "kubelet"])?;
    phase(&["bootstrap-token", "--skip-token-print"])?;
    point_cluster_info_at_guest_address(folder).await
}

/// `kubeadm init` does this outside its phases, with the super-admin's credential.
async fn bind_administrators(folder: &Folder) -> Result<()> {
    let client = credentials::client(&folder.kubeconfig("super-admin")).await?;
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "kubeadm:cluster-admins"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "kubeadm:cluster-admins"}],
    }))?;
    Api::all(client)
        .create(&PostParams::default(), &binding)
        .await?;
    // The authorizer learns of it through a watch. A moment later every admin call is allowed.
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}

/// The phase took the server from our own kubeconfig, 127.0.0.1. A join would pass discovery and
/// then be refused. The bootstrapsigner signs the changed ConfigMap again within a second.
async fn point_cluster_info_at_guest_address(folder: &Folder) -> Result<()> {
    let api: Api<ConfigMap> = Api::namespaced(
        credentials::client(&folder.kubeconfig("admin")).await?,
        "kube-public",
    );
    let info = api.get("cluster-info").await?;
    let data = info.data.context("cluster-info has no data")?;
    let text = data
        .get("kubeconfig")
        .context("cluster-info has no kubeconfig")?;
    let text = text.replace("127.0.0.1", HOST_SEEN_FROM_GUEST);
    let patch = json!({"data": {"kubeconfig": text}});
    api.patch(
        "cluster-info",
        &PatchParams::default(),
        &Patch::Merge(patch),
    )
    .await?;
    Ok(())
}
