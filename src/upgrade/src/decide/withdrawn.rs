//! What ends an upgrade from outside before the node is armed: its request is withdrawn, or its
//! Node is another one.

use crate::observe::{Asked, Observation};
use crate::reason::Reason;
use crate::record::Upgrade;

/// Why the upgrade does not go on, though nothing failed.
pub(super) fn called_off(up: &Upgrade, seen: &Observation) -> Option<Reason> {
    renamed(up, seen).or_else(|| is_withdrawn(up, seen).then_some(Reason::Withdrawn))
}

/// The machine joined its cluster again under another name after it was taken from its users. The
/// former Node is out of reach, since NodeRestriction lets a kubelet's credential change its own
/// Node alone. And nobody has drained the present Node.
pub(super) fn renamed(up: &Upgrade, seen: &Observation) -> Option<Reason> {
    let was = up.custody.taken()?.node.as_ref()?;
    let is = seen.node.name.as_ref()?;
    (was != is).then(|| Reason::DrainRefused {
        detail: format!(
            "this machine is Node {is} now, and was Node {was} when it was cordoned; its credential no longer reaches {was}, \
             which stays cordoned: uncordon or delete {was} by hand"
        ),
    })
}

/// Whether the requester has withdrawn the request that this upgrade serves.
fn is_withdrawn(up: &Upgrade, seen: &Observation) -> bool {
    up.phase.can_be_withdrawn()
        && match &seen.node.request {
            Asked::Unknown => false,
            Asked::Nothing => true,
            Asked::This(request) => *request != up.request,
        }
}
