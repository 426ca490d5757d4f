//! The agent has not answered this request yet. The provider sends the request, waits for the
//! answer, or is blocked from sending.

use requests::NodeFacts;

use super::answer::{Answer, Decision, NodeWrite, Progress, clean};
use super::facts::Facts;
use super::guard::may_ask;
use super::mark::{hold, is_fresh, remake, working};
use super::ready::Ready;
use super::time::remaining;
use super::wait::{waits_by_will, within};
use super::why::Why;

/// The agent has not answered this request yet.
pub(super) fn unanswered(facts: &Facts<'_>, ready: &Ready<'_>) -> Decision {
    let node = ready.node;
    if node.asks_for(&ready.id, &ready.image.to_string(), ready.text) {
        return waiting(facts, ready);
    }
    if let Some(other) = node.other_request(&ready.id) {
        let why = Why::OtherRequest {
            node: node.name.clone(),
            id: clean(other),
        };
        return hold(facts, why);
    }
    match may_ask(facts, node, &ready.version) {
        Err(why) => hold(facts, why),
        Ok(()) => ask(facts, ready),
    }
}

/// Writes the mark before the request, and renews the mark if it is not fresh. The mark starts two
/// clocks: the time that the node has, and the time for which the request may be in transit.
fn ask(facts: &Facts<'_>, ready: &Ready<'_>) -> Decision {
    let mut decision = working(facts, ready, scheduled(None));
    if !is_fresh(facts, &ready.id) {
        decision.mark = Some(remake(facts, ready));
    }
    decision.node = Some(NodeWrite::Request {
        id: ready.id.clone(),
        image: ready.image.clone(),
        version: ready.text.to_owned(),
    });
    // A silent node triggers no decision, so the provider schedules one.
    decision.again = remaining(facts, facts.now, facts.policy.answer_seconds);
    decision
}

fn scheduled(reason: Option<String>) -> Answer {
    Answer::Working(Progress {
        phase: Progress::SCHEDULED.to_owned(),
        percent: 0,
        reason,
    })
}

/// The request was sent, and the agent has not answered yet.
fn waiting(facts: &Facts<'_>, ready: &Ready<'_>) -> Decision {
    let node = ready.node;
    let limit = facts.policy.answer_seconds;
    let unfit = unfit(node).map(|detail| Why::AgentUnfit {
        node: node.name.clone(),
        detail,
    });
    if let Some(why) = unfit.clone().filter(|_| !has_ended(node)) {
        return within(facts, ready, limit, Answer::Held(why.clone()), || why);
    }
    if let Some(why) = node.pause() {
        // A paused agent starts nothing, so it has nothing to report.
        let paused = format!("paused: {}", clean(why));
        return waits_by_will(facts, ready, scheduled(Some(paused)));
    }
    within(facts, ready, limit, scheduled(None), || {
        unfit.unwrap_or_else(|| Why::NoAnswer {
            node: node.name.clone(),
            seconds: limit,
        })
    })
}

/// A final answer without an id may answer an earlier request. It stays until the agent looks.
fn has_ended(node: &NodeFacts) -> bool {
    !node.reply.unreadable && node.reply.is_last_word()
}

/// An agent that answers without naming the request.
fn unfit(node: &NodeFacts) -> Option<String> {
    if node.reply.unreadable {
        return Some(format!("{} cannot be read", upgrade::names::STATUS));
    }
    let nameless = node.reply.answer.is_some() && node.reply.id().is_none();
    nameless.then(|| format!("{} has no id", upgrade::names::STATUS))
}
