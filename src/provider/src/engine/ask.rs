//! No word of this request yet: it is asked for, or was and is waited for, or cannot be asked for now.

use upgrade::UpgradeId;
use upgrade::report::Answer as NodeAnswer;

use super::answer::clean;
use super::decide::Ready;
use super::guard::may_ask;
use super::mark::{hold, is_fresh, remake, working};
use super::node::is_ours;
use super::pursue::{waits_by_will, within};
use super::time::remaining;
use super::{Answer, Decision, Facts, NodeFacts, NodeWrite, Progress, Why};

/// Nothing is said about this request yet.
pub(super) fn unanswered(facts: &Facts<'_>, ready: &Ready<'_>) -> Decision {
    let node = ready.node;
    if stands(ready) {
        return waiting(facts, ready);
    }
    if let Some(other) = busy_with(node, &ready.id) {
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

/// Whether the Node asks for exactly this already.
fn stands(ready: &Ready<'_>) -> bool {
    let node = ready.node;
    let image = ready.image.to_string();
    node.requested
        && node.id.as_deref() == Some(ready.id.as_str())
        && node.image.as_deref() == Some(image.as_str())
        && node.version.as_deref() == Some(ready.text)
}

/// Another request that the agent works on. One that it has not taken up may be replaced, if it is ours.
fn busy_with<'a>(node: &'a NodeFacts, id: &UpgradeId) -> Option<&'a str> {
    let other = |theirs: &&str| *theirs != id.as_str();
    if node.answer == Some(NodeAnswer::InProgress) {
        return node.answered_id().or(Some("without an id")).filter(other);
    }
    let waits = node.requested && !node.is_answered();
    node.id
        .as_deref()
        .filter(|_| waits)
        .filter(other)
        .filter(|id| !is_ours(id))
}

/// The mark goes first, and is made anew if it is not of this moment: from it count the time that the node has, and the time for which
/// the request may be on its way.
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
    // A node that says nothing makes nobody look.
    decision.again = remaining(facts, facts.now, facts.policy.answer_seconds);
    decision
}

fn scheduled(reason: Option<String>) -> Answer {
    Answer::Working(Progress {
        phase: "Scheduled".to_owned(),
        percent: 0,
        reason,
    })
}

/// Asked, and no word of it yet.
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
    if let Some(why) = &node.paused {
        // An agent begins nothing new then, and so has nothing to answer with.
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

/// A last word without a name may be one to an earlier request, which stands until the agent looks.
fn has_ended(node: &NodeFacts) -> bool {
    !node.unreadable && matches!(node.answer, Some(NodeAnswer::Upgraded | NodeAnswer::Failed))
}

/// An agent that answers, but does not say what.
fn unfit(node: &NodeFacts) -> Option<String> {
    if node.unreadable {
        return Some(format!("{} cannot be read", upgrade::names::STATUS));
    }
    let nameless = node.answer.is_some() && node.answered_id().is_none();
    nameless.then(|| format!("{} has no id", upgrade::names::STATUS))
}
