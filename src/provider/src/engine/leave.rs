//! The way out: nobody asks any more, or somebody said stop.

use requests::{NodeFacts, is_ours};
use upgrade::report::Answer as NodeAnswer;

use super::decide::others_id;
use super::mark::{at_rest, finished, in_hand};
use super::{Answer, Decision, Facts, Mark, NodeView, NodeWrite, Why};

/// Nobody asks. What came to its end before core took its annotations off was not cancelled by that: core did so because of our
/// "done", and whoever said it may have died before the InfraMachine heard of it.
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

/// Takes back what we asked, as long as the agent has not answered it; then the mark goes.
pub(super) fn cancelled(facts: &Facts<'_>, why: Why) -> Decision {
    let answer = Answer::Cancelled(why);
    let Some(mark) = &facts.machine.mark else {
        return Decision::say(answer);
    };
    match facts.node {
        // The request may stand there still: the mark is what brings us back to take it away.
        NodeView::Away(_) => Decision::say(answer),
        // What is on its way names the Node by its UID, and finds it no more.
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

/// How our request stands on a Node that should not go on with it.
enum Open {
    /// It still asks.
    Withdraw,
    /// It is taken back; the agent is on its way out, or past the point where it stops.
    Ending,
    /// What was marked has its last word.
    Answered,
    /// Nothing of ours is to be seen.
    Nothing,
}

/// Whoever marked for another wish may have died before it wrote that, so whatever bears our prefix is ours.
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
