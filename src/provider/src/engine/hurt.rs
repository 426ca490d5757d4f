//! A member of the control plane whose upgrade has halted. With one more member away, etcd may lose
//! its quorum. So no other member is asked, and nothing deletes this one, until a person has looked
//! at it.

use requests::NodeFacts;

use super::facts::{Facts, NodeView};
use super::machine::others_id;

/// Whether this Node is such a member.
pub(super) fn is_hurt(facts: &Facts<'_>, node: &NodeFacts) -> bool {
    let is_member = facts.machine.control_plane || node.control_plane;
    is_member && node.is_halted() && others_id(facts.machine, node).is_none()
}

/// Whether the Machine keeps its mark and its protection without a limit. A Machine that somebody
/// deletes keeps nothing.
pub(super) fn keeps_its_mark(facts: &Facts<'_>) -> bool {
    match facts.node {
        NodeView::Seen(node) => is_hurt(facts, node) && !facts.machine.deleting,
        NodeView::Away(_) | NodeView::Missing => false,
    }
}
