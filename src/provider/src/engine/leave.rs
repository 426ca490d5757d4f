//! The way out: nobody asks any more, or somebody said stop.

use upgrade::report::Answer as NodeAnswer;

use super::decide::finished;
use super::verify::verify;
use super::{Answer, Decision, Facts, Mark, NodeFacts, NodeView, NodeWrite, Why};

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
    let upgraded = node.answer == Some(NodeAnswer::Upgraded);
    upgraded && node.answered_id() == Some(mark.id.as_str()) && verify(facts, node, version).is_ok()
}

/// Takes back what we asked, as long as the agent has not answered it; then the mark goes.
pub(super) fn cancelled(facts: &Facts<'_>, why: Why) -> Decision {
    let Some(mark) = &facts.machine.mark else {
        return Decision::say(Answer::Cancelled(why));
    };
    let open = match facts.node {
        NodeView::Seen(node) => open(node, &mark.id),
        // The request may stand there still: the mark is what brings us back to take it away.
        NodeView::Away(_) => Open::Unseen,
        NodeView::Missing => Open::No,
    };
    let answer = Answer::Cancelled(why);
    match open {
        Open::Withdraw => Decision {
            node: Some(NodeWrite::Withdraw),
            ..Decision::say(answer)
        },
        Open::Ending | Open::Unseen => Decision::say(answer),
        Open::No => finished(facts, answer),
    }
}

/// How our request stands on a Node that should not go on with it.
enum Open {
    /// It still asks.
    Withdraw,
    /// It is taken back; the agent is on its way out, or past the point where it stops.
    Ending,
    /// Nobody knows: its cluster is away.
    Unseen,
    /// The node has nothing of ours in hand.
    No,
}

fn open(node: &NodeFacts, id: &str) -> Open {
    let said = node.answer.filter(|_| node.answered_id() == Some(id));
    let working = said == Some(NodeAnswer::InProgress);
    let ours = node.requested && node.id.as_deref() == Some(id);
    let answered = said.is_some() && !working;
    match (ours && !answered, working) {
        (true, _) => Open::Withdraw,
        (false, true) => Open::Ending,
        (false, false) => Open::No,
    }
}
