//! Withdrawal: nobody requests the upgrade any more, or somebody stopped it.

use requests::{NodeFacts, is_ours};
use upgrade::report::Answer as NodeAnswer;

use super::answer::{Answer, Decision, Mark, NodeWrite};
use super::facts::{Facts, NodeView};
use super::machine::others_id;
use super::mark::{at_rest, finished, in_hand};
use super::why::Why;

/// Nobody requests the upgrade. An upgrade that ended before core removed its annotations was not
/// cancelled by that: core removed them because of the provider's "done". The replica that reported
/// it may have died before it updated the InfraMachine.
pub(super) fn idle(facts: &Facts<'_>) -> Decision {
    let Some(mark) = &facts.machine.mark else {
        return Decision::say(Answer::Idle);
    };
    if has_arrived(facts, mark) {
        return finished(facts, Answer::Done);
    }
    cancelled(facts, Why::Withdrawn)
}

fn has_arrived(facts: &Facts<'_>, mark: &Mark) -> bool {
    let (NodeView::Seen(node), Some(version)) = (facts.node, &facts.machine.version) else {
        return false;
    };
    node.has_arrived(&mark.id, version)
}

/// Withdraws the request as long as the agent has not answered it. After that the mark is removed.
pub(super) fn cancelled(facts: &Facts<'_>, why: Why) -> Decision {
    let answer = Answer::Cancelled(why);
    let Some(mark) = &facts.machine.mark else {
        return Decision::say(answer);
    };
    match facts.node {
        // The request may still be on the Node. The mark makes the provider return and remove it.
        NodeView::Away(_) => Decision::say(answer),
        // A request in transit names the Node by its UID, and no longer finds it.
        NodeView::Missing => finished(facts, answer),
        NodeView::Seen(node) if others_id(facts.machine, node).is_some() => at_rest(facts, answer),
        NodeView::Seen(node) => match open(node, &mark.id) {
            Open::Withdraw => Decision {
                node: Some(NodeWrite::Withdraw),
                ..Decision::say(answer)
            },
            Open::Ending => in_hand(facts, node, answer),
            Open::Answered => finished(facts, answer),
            Open::Nothing => at_rest(facts, answer),
        },
    }
}

/// The state of the provider's request on a Node that should not continue with it.
enum Open {
    /// The Node still has the request.
    Withdraw,
    /// The request is withdrawn. The agent is stopping, or is past the point where it can stop.
    Ending,
    /// The agent gave a final answer to the marked request.
    Answered,
    /// The Node shows nothing of the provider.
    Nothing,
}

/// A replica that marked the Machine for another wish may have died before it wrote the request. So
/// every id with the provider's prefix belongs to the provider.
fn open(node: &NodeFacts, marked: &str) -> Open {
    let asks = node.requested && node.id.as_deref().is_some_and(is_ours);
    let works = node.reply.answer == Some(NodeAnswer::InProgress);
    let works_for_us = works && node.reply.id().is_some_and(is_ours);
    match (asks, node.is_answered()) {
        (true, false) => Open::Withdraw,
        _ if works_for_us => Open::Ending,
        (true, true) if node.id.as_deref() == Some(marked) => Open::Answered,
        (true, true) | (false, _) => Open::Nothing,
    }
}
