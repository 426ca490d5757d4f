//! What ends an upgrade from outside before the node is armed: its request is taken back, or its Node is another one.

use crate::observe::{Asked, Observation};
use crate::reason::Reason;
use crate::record::Upgrade;

/// Why the upgrade does not go on, though nothing failed.
pub(super) fn called_off(up: &Upgrade, seen: &Observation) -> Option<Reason> {
    renamed(up, seen).or_else(|| withdrawn(up, seen).then_some(Reason::Withdrawn))
}

/// The machine has joined its cluster again under another name since it was taken from its users. What stands on the former Node is out of
/// reach: NodeRestriction lets a kubelet's credential change its own Node alone. And nobody has drained the present one.
pub(super) fn renamed(up: &Upgrade, seen: &Observation) -> Option<Reason> {
    let (was, is) = (up.node.as_ref()?, seen.node.as_ref()?);
    (was != is).then(|| Reason::DrainRefused {
        detail: format!(
            "this machine is Node {is} now, and was Node {was} when it was cordoned; its credential no longer reaches {was}, \
             which stays cordoned: uncordon or delete {was} by hand"
        ),
    })
}

/// Whether the requester has taken back the request that this upgrade serves.
fn withdrawn(up: &Upgrade, seen: &Observation) -> bool {
    up.phase.can_be_withdrawn()
        && match &seen.request {
            Asked::Unknown => false,
            Asked::Nothing => true,
            Asked::This(request) => *request != up.request,
        }
}
