//! What is known of a snapshot, for the person who restores it.

use std::collections::BTreeMap;

use client::chain;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use serde::Serialize;
use upgrade::control_plane::{Component, EtcdId, EtcdVersion};
use upgrade::{Digest, UpgradeId, Version};

use crate::api::configuration as parse;
use crate::connect::{KUBELET, NAMESPACE, PATIENCE, connect};
use crate::etcd::Identity;
use crate::folder::Folder;

/// The file beside a snapshot.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note<'a> {
    /// The upgrade that made it.
    pub upgrade: &'a UpgradeId,
    /// The node.
    pub node: &'a str,
    /// When, in seconds since 1970.
    pub at: u64,
    /// Cluster, revision and peers. The snapshot has this revision at least.
    pub etcd: &'a Identity,
    /// The member.
    pub member: Option<EtcdId>,
    /// Its version.
    pub etcd_version: Option<EtcdVersion>,
    /// The length of the database.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: &'a Digest,
    /// The versions of the node's own pods.
    pub manifests: BTreeMap<Component, Version>,
    /// kubeadm's configuration of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_configuration: Option<String>,
}

/// kubeadm's configuration of the cluster, or why it is not known. The kubelet's credential may
/// read it, so the administrator's is not used. The snapshot has it as well, so it may be missing.
pub(super) async fn configuration(folder: &Folder) -> (Option<String>, Option<String>) {
    match tokio::time::timeout(PATIENCE, read(folder)).await {
        Ok(Ok(text)) => (Some(text), None),
        Ok(Err(why)) => (None, Some(why)),
        Err(_) => (None, Some(format!("no answer in {} s", PATIENCE.as_secs()))),
    }
}

async fn read(folder: &Folder) -> Result<String, String> {
    let client = connect(folder, KUBELET)?;
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let map = maps.get("kubeadm-config").await;
    let map = map.map_err(|error| chain(&error))?;
    Ok(parse(&map)?.text)
}
