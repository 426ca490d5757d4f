//! What ends an upgrade from outside before the node is armed: its request is withdrawn, or its
//! Node is another one.

use crate::observe::{Asked, Observation};
use crate::reason::{Reason, complaint};
use crate::record::Upgrade;
use crate::target::RawRequest;

/// Why the upgrade does not go on, though nothing failed.
pub(super) fn called_off(up: &Upgrade, seen: &Observation) -> Option<Reason> {
    renamed(up, seen).or_else(|| withdrawn(up, seen))
}

/// The machine joined its cluster again under another name after it was taken from its users. The
/// former Node is out of reach, since NodeRestriction lets a kubelet's credential change its own
/// Node alone. And nobody has drained the present Node.
pub(super) fn renamed(up: &Upgrade, seen: &Observation) -> Option<Reason> {
    let was = up.custody.taken()?.node.as_ref()?;
    let is = seen.node.name.as_ref()?;
    (was != is).then(|| Reason::NodeRenamed {
        was: was.clone(),
        is: is.clone(),
    })
}

/// Whether the requester has withdrawn the request that this upgrade serves, or replaced it.
fn withdrawn(up: &Upgrade, seen: &Observation) -> Option<Reason> {
    let replaced_by = match &seen.node.request {
        Asked::Unknown => return None,
        Asked::Nothing => None,
        Asked::This(request) if *request == up.request => return None,
        Asked::This(request) => Some(told(up, request)),
    };
    let can_be = up.phase.can_be_withdrawn();
    can_be.then_some(Reason::Withdrawn { replaced_by })
}

/// What the other request asks for: its image, and its id if only that differs.
fn told(up: &Upgrade, request: &RawRequest) -> String {
    let image = request.image.as_deref().unwrap_or_default();
    match &request.id {
        Some(id) if request.image == up.request.image => {
            format!("the same image with the id {:?}", complaint(id))
        }
        Some(_) | None => complaint(&image),
    }
}
