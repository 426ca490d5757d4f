//! How a machine that is not committed gives its host back.

use crate::claim::HostRef;
use crate::decision::{Act, Decision};
use crate::facts::{Facts, Node};
use crate::why::Why;

/// A machine that is committed keeps its host, and says why it cannot go on.
pub fn give_back_if_possible(facts: &Facts<'_>, host: &HostRef, why: Why) -> Decision {
    if host.committed {
        return Decision::wait(why);
    }
    give_back(facts, why)
}

/// The host is ordered to leave before the machine chooses another one. A restored API server may
/// have lost the commitment of a host that has joined since. Its Node shows that.
pub fn give_back(facts: &Facts<'_>, why: Why) -> Decision {
    match facts.node {
        Node::Ready | Node::NotReady { .. } => Decision::write(Act::Commit),
        Node::Away(detail) if may_have_nodes(facts) => Decision::look_again(Why::ClusterAway {
            detail: detail.clone(),
        }),
        Node::NoCluster | Node::Away(_) | Node::Missing { .. } | Node::Other { .. } => {
            Decision::because(Act::Release, why)
        }
    }
}

/// Whether the cluster of a machine may have Nodes while its API server is away. The first control
/// plane makes that server by its join, so nobody waits long for it. But what a restored management
/// server says of the Cluster may be old.
pub fn may_have_nodes(facts: &Facts<'_>) -> bool {
    let initialized = facts.cluster.is_some_and(|cluster| cluster.initialized);
    initialized || facts.leads_for < facts.policy.visible
}
