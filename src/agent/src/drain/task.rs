//! The drain of one node, with its limits.

use std::path::Path;
use std::time::Duration;

use cri::RunningPod;
use futures::future::BoxFuture;
use upgrade::{UpgradeId, policy};

use crate::access::NodeAccess;
use crate::cluster::Cluster;

/// The pods that run on a machine, or why that is not known.
pub type Running<'a> = BoxFuture<'a, Result<Vec<RunningPod>, String>>;

/// The machine of the node.
pub trait Machine: Sync {
    /// Asks it which pods run on it, without static pods.
    fn running(&self) -> Running<'_>;
}

impl<H: NodeAccess> Machine for H {
    fn running(&self) -> Running<'_> {
        Box::pin(self.running_pods())
    }
}

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
    /// Its machine.
    pub machine: &'a dyn Machine,
    /// Where the volumes that it waits for are noted.
    pub volumes: &'a Path,
    /// Reports what is being done.
    pub progress: &'a (dyn Fn(u8, String) + Send + Sync),
}
