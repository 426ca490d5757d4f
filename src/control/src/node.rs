//! This node: whether it has a control plane and a member of etcd, and its name.

use host::control_plane;
use thiserror::Error;
use upgrade::names;

use crate::certificates;
use crate::folder::Folder;

/// This node runs no control plane of kubeadm's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "this node runs no control plane of kubeadm's: {} has none of its manifests. Run careen-control as root on a control-plane node.",
    names::MANIFESTS
)]
pub struct NoControlPlane;

/// Succeeds on a control-plane node.
pub(crate) fn check(folder: &Folder) -> Result<(), NoControlPlane> {
    match control_plane::is_here(&folder.places()) {
        true => Ok(()),
        false => Err(NoControlPlane),
    }
}

/// Whether etcd is on this node.
pub(crate) fn has_member(folder: &Folder) -> bool {
    MEMBER.iter().any(|sign| folder.path(sign).exists())
}

/// The name of its Node.
pub(crate) fn name(folder: &Folder) -> String {
    certificates::node_name(folder).unwrap_or_else(hostname)
}

/// Files that only a node with a member of etcd has.
const MEMBER: [&str; 2] = [
    "/etc/kubernetes/manifests/etcd.yaml",
    "/etc/kubernetes/pki/etcd/server.crt",
];

/// A kubelet registers its node under the host's name in small letters.
fn hostname() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().to_lowercase()
}
