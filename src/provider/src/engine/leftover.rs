//! What an InfraMachine still says of an upgrade that nobody asks for any more and that no mark reminds of: whoever told it so may have been
//! another of us, which is no more.

use requests::{NodeFacts, is_ours};
use upgrade::report::Answer as NodeAnswer;

use super::decide::others_id;
use super::plan::upgrade_id;
use super::pursue::failure;
use super::{Answer, Machine, NodeView, Why};

/// How it came to its end; nothing as long as the Node cannot be seen, or has our request in hand.
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

/// Its answer to what was asked for this Machine as it is. The image stands beside the request, so that this is told without a catalogue.
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
