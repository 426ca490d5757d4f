//! What is known of a snapshot, for the person who restores it.

use std::collections::BTreeMap;

use serde::Serialize;
use upgrade::control_plane::{Component, EtcdId, EtcdVersion};
use upgrade::{Digest, UpgradeId, Version};

use crate::etcd::Identity;

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
