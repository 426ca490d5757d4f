//! A Node of a prepared host that no machine has. It is named on the Node itself, for the people of
//! the workload cluster, and never deleted.

use crate::policy::Policy;

/// A Node whose provider id is that of a prepared host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostNode {
    /// A CareenMachine has the host and the claim of its provider id.
    pub claimed: bool,
    /// It is marked as one that no machine has.
    pub marked: bool,
    /// For how many seconds it was seen without a machine, with no gap.
    pub seconds: i64,
    /// Its Cluster is paused.
    pub paused: bool,
}

/// A write to such a Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeAct {
    /// Mark it.
    Mark,
    /// Remove the mark: a machine has it.
    Unmark,
}

/// What to write to a Node of a prepared host.
#[must_use]
pub const fn look_at_node(node: HostNode, policy: &Policy) -> Option<NodeAct> {
    match (node.claimed, node.marked) {
        (true, true) if !node.paused => Some(NodeAct::Unmark),
        (false, false) if !node.paused && node.seconds >= policy.unmanaged => Some(NodeAct::Mark),
        (true | false, true | false) => None,
    }
}
