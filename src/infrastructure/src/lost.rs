//! When a host that does not answer may be given up. It has no power switch, so this rests on time,
//! on its Node, and on the brake.

use crate::facts::{Facts, Node};
use crate::host::Host;
use crate::why::Why;

/// Whether the host may be given up, for its claim. Without a CareenHost only the Node counts. The
/// silence counts from the moment in which careen-provider leads: before, another one has listened, or
/// this one stood still.
///
/// # Errors
/// Why not.
pub fn lost(facts: &Facts<'_>, name: &str, claim: &str, host: Option<&Host>) -> Result<(), Why> {
    let needed = facts.policy.lost;
    if let Some(silent) = host.map(|host| host.silent(facts.now).min(facts.leads_for))
        && silent < needed
    {
        return Err(Why::Silent {
            host: name.to_owned(),
            claim: claim.to_owned(),
            silent,
            needed,
        });
    }
    let brake_off = facts.cluster.is_some_and(|cluster| cluster.brake_off);
    if let Some(brake) = facts.brake.filter(|_| !brake_off) {
        return Err(Why::Braked {
            silent: brake.silent,
            of: brake.of,
            place: brake
                .domain
                .clone()
                .unwrap_or_else(|| "the namespace".to_owned()),
        });
    }
    match facts.node {
        Node::NoCluster => Ok(()),
        Node::Away(detail) => Err(Why::ClusterAway {
            detail: detail.clone(),
        }),
        Node::Ready => Err(Why::LinkDown {
            host: name.to_owned(),
        }),
        Node::NotReady { seconds } if *seconds >= needed => Ok(()),
        Node::NotReady { seconds } => Err(Why::NodeNotReady {
            host: name.to_owned(),
            seconds: *seconds,
            needed,
        }),
        Node::Missing { visible } if *visible < facts.policy.visible => Err(Why::NodeNotReady {
            host: name.to_owned(),
            seconds: *visible,
            needed: facts.policy.visible,
        }),
        // A Node of its name that is another machine's is not its own.
        Node::Missing { .. } | Node::Other { .. } => Ok(()),
    }
}
