//! The drain of one node, with its limits.

use std::path::Path;
use std::time::Duration;

use upgrade::{UpgradeId, policy};

use crate::cluster::Cluster;

/// The drain of one node.
pub struct Drain<'a> {
    /// The API server.
    pub cluster: &'a Cluster,
    /// The Node.
    pub node: &'a str,
    /// The upgrade that the cordon belongs to.
    pub id: &'a UpgradeId,
    /// How long the drain may take, and what happens after that.
    pub policy: &'a policy::Drain,
    /// Which programs are kept off the node while it is away.
    pub neighbours: &'a policy::Neighbours,
    /// How much of its time earlier attempts used.
    pub spent: Duration,
    /// Where the volumes that it waits for are noted.
    pub volumes: &'a Path,
    /// Reports what is being done.
    pub progress: &'a (dyn Fn(u8, String) + Send + Sync),
}
