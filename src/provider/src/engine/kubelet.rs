//! The oldest kubelet of a cluster, with its owner.

use upgrade::Version;

/// A kubelet's version and its owner. A node reports this version itself, so a person must be able
/// to find the node and leave it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubelet {
    /// The version.
    pub version: Version,
    /// Its Node.
    pub node: String,
    /// Its Machine.
    pub machine: String,
}
