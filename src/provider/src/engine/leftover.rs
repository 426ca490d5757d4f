//! What an InfraMachine still reports about an upgrade that nobody requests any more and that has
//! no mark. Another replica, which no longer exists, may have written that report.

use requests::{NodeFacts, is_ours};
use upgrade::report::Answer as NodeAnswer;

use super::answer::Answer;
use super::facts::NodeView;
use super::machine::{Machine, others_id};
use super::plan::upgrade_id;
use super::pursue::failure;
use super::why::Why;

/// How the upgrade ended. Returns nothing while the Node is not visible or works on the provider's
/// request.
#[must_use]
pub fn leftover(machine: &Machine, node: NodeView<'_>) -> Option<Answer> {
    if machine.deleting {
        return Some(Answer::Cancelled(Why::Deleted));
    }
    let withdrawn = Answer::Cancelled(Why::Withdrawn);
    match node {
        _ if machine.node.is_none() => Some(withdrawn),
        NodeView::Away(_) => None,
        NodeView::Missing => Some(withdrawn),
        NodeView::Seen(node) if others_id(machine, node).is_some() => Some(withdrawn),
        NodeView::Seen(node) if works_for_us(node) => None,
        NodeView::Seen(node) => Some(last_word(machine, node).unwrap_or(withdrawn)),
    }
}

fn works_for_us(node: &NodeFacts) -> bool {
    let asked = node.requested.then_some(node.id.as_deref()).flatten();
    let mut ids = asked.into_iter().chain(node.reply.id());
    node.in_flight() && ids.any(is_ours)
}

/// The Node's answer to the request for this Machine in its current state. The image is next to the
/// request, so this needs no catalogue.
fn last_word(machine: &Machine, node: &NodeFacts) -> Option<Answer> {
    let version = machine.version.as_deref()?;
    let image = node.image.as_deref()?.parse().ok()?;
    let id = upgrade_id(machine, version, &image)?;
    let (answer, status) = node.reply.to(&id)?;
    match answer {
        NodeAnswer::Upgraded if node.has_arrived(id.as_str(), version) => Some(Answer::Done),
        NodeAnswer::Failed if !node.reply.was_withdrawn() => {
            Some(Answer::Failed(failure(node, status)))
        }
        NodeAnswer::Upgraded | NodeAnswer::Failed | NodeAnswer::InProgress => None,
    }
}
