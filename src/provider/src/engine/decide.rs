//! The table itself.

use upgrade::reason::Wait;
use upgrade::report::{Answer as NodeAnswer, Status};
use upgrade::{Target, UpgradeId, Version};

use super::answer::clean;
use super::guard::may_ask;
use super::leave::{cancelled, idle};
use super::plan::upgrade_id;
use super::verify::verify;
use super::{
    Answer, Decision, Facts, Mark, MarkWrite, NodeFacts, NodeView, NodeWrite, Progress, Road,
    Wanted, Why,
};

/// The agent's code for a request that was taken back: not an answer to one that stands.
const WITHDRAWN: &str = "Withdrawn";

/// What to write and what to say about one Machine now.
#[must_use]
pub fn decide(facts: &Facts<'_>) -> Decision {
    if facts.machine.deleting {
        return cancelled(facts, Why::Deleted);
    }
    if let Some(what) = facts.paused {
        return cancelled(
            facts,
            Why::Paused {
                what: what.to_owned(),
            },
        );
    }
    match facts.road {
        Road::None => idle(facts),
        Road::Untold => Decision::say(Answer::Untold),
        Road::Wanted(wanted) => match wanted_of(facts, wanted) {
            Ok(ready) => pursue(facts, &ready),
            Err(why) => hold(facts, why),
        },
    }
}

/// A wish that is complete, and the Node that it is for.
struct Ready<'a> {
    node: &'a NodeFacts,
    version: Version,
    text: &'a str,
    image: &'a Target,
    id: UpgradeId,
}

fn wanted_of<'a>(facts: &Facts<'a>, wanted: &'a Wanted) -> Result<Ready<'a>, Why> {
    let bad_version = || Why::BadVersion {
        version: clean(&wanted.version),
    };
    let version = wanted.version.parse().map_err(|_| bad_version())?;
    let node = node_of(facts)?;
    let image = wanted.image.as_ref().map_err(Clone::clone)?;
    let id = upgrade_id(facts.machine, &wanted.version, image).ok_or_else(bad_version)?;
    Ok(Ready {
        node,
        version,
        text: &wanted.version,
        image,
        id,
    })
}

/// The Machine's Node, if it is to be seen and is the Machine's.
fn node_of<'a>(facts: &Facts<'a>) -> Result<&'a NodeFacts, Why> {
    let machine = facts.machine;
    let node = match facts.node {
        NodeView::Away(detail) => {
            return Err(Why::ApiAway {
                cluster: machine.cluster.clone(),
                detail: clean(detail),
            });
        }
        NodeView::Missing => match &machine.node {
            None => return Err(Why::NoNode),
            Some(node) => {
                return Err(Why::NodeMissing {
                    node: node.clone(),
                    cluster: machine.cluster.clone(),
                });
            }
        },
        NodeView::Seen(node) => node,
    };
    match (&machine.provider_id, &node.provider_id) {
        (Some(wanted), Some(found)) if wanted != found => Err(Why::NodeMismatch {
            node: node.name.clone(),
            found: clean(found),
            wanted: wanted.clone(),
        }),
        _ => Ok(node),
    }
}

fn pursue(facts: &Facts<'_>, ready: &Ready<'_>) -> Decision {
    match ready.node.answer_to(&ready.id) {
        Some((NodeAnswer::Upgraded, _)) => match verify(facts, ready.node, ready.text) {
            Ok(()) => finished(facts, Answer::Done),
            Err(why) => working(facts, ready, Answer::Held(why)),
        },
        Some((NodeAnswer::Failed, status)) if !was_withdrawn(status) => {
            finished(facts, Answer::Failed(failure(ready.node, status)))
        }
        Some((NodeAnswer::InProgress, status)) => in_progress(facts, ready, status),
        Some((NodeAnswer::Failed, _)) | None => unanswered(facts, ready),
    }
}

/// A request that was withdrawn and is asked again has its old answer beside it until the agent looks.
fn was_withdrawn(status: &Status) -> bool {
    status.code.as_deref() == Some(WITHDRAWN)
}

fn failure(node: &NodeFacts, status: &Status) -> Why {
    let text = node.failure.as_deref().or(status.reason.as_deref());
    let reason = clean(text.unwrap_or("the agent gave no reason"));
    let code = status.code.as_deref().unwrap_or_default();
    // A condition's reason must be of this form, and a node may write anything.
    let fit =
        !code.is_empty() && code.len() < 64 && code.bytes().all(|c| c.is_ascii_alphanumeric());
    Why::Node {
        code: if fit { code } else { "Failed" }.to_owned(),
        reason,
    }
}

fn in_progress(facts: &Facts<'_>, ready: &Ready<'_>, status: &Status) -> Decision {
    let limit = facts.policy.upgrade_seconds;
    let phase = clean(&status.phase);
    let waits = status.code.as_deref().and_then(Wait::of).is_some();
    let moved = moved(facts, &ready.id, status);
    if !waits && moved.is_some_and(|moved| facts.now - moved >= limit) {
        let why = Why::Stalled {
            node: ready.node.name.clone(),
            phase,
            seconds: limit,
        };
        return working(facts, ready, Answer::Held(why));
    }
    let progress = Progress {
        phase,
        percent: status.percent.min(99) / 10 * 10,
        reason: status.reason.as_deref().map(clean),
    };
    let answer = Answer::Working(progress);
    if waits {
        return waits_by_will(facts, ready, answer);
    }
    let mut decision = working(facts, ready, answer);
    decision.again = moved.and_then(|moved| remaining(facts, moved, limit));
    decision
}

/// The node waits for its hours, its soak or the end of a pause, however long that takes. What it said it reached is old when that ends, so
/// the mark is made anew before half its time is over: then the other half is left to go on in.
fn waits_by_will(facts: &Facts<'_>, ready: &Ready<'_>, answer: Answer) -> Decision {
    let half = facts.policy.upgrade_seconds / 2;
    let since = since(facts, &ready.id);
    let mut decision = working(facts, ready, answer);
    if since.is_some_and(|since| facts.now - since >= half) {
        decision.mark = Some(MarkWrite::On(mark(facts, ready)));
        decision.again = remaining(facts, facts.now, half);
    } else {
        decision.again = since.and_then(|since| remaining(facts, since, half));
    }
    decision
}

/// When the node moved last: was asked, or reached a phase. What its clock puts behind now says nothing.
fn moved(facts: &Facts<'_>, id: &UpgradeId, status: &Status) -> Option<i64> {
    let since = since(facts, id)?;
    let reached = status.reached.iter();
    let reached = reached.filter_map(|reached| i64::try_from(reached.at).ok());
    reached.filter(|at| *at <= facts.now).chain([since]).max()
}

/// Nothing is said about this request yet.
fn unanswered(facts: &Facts<'_>, ready: &Ready<'_>) -> Decision {
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
    let foreign = |id: &&str| !id.starts_with(crate::names::ID_PREFIX);
    let waits = node.requested && node.id.as_deref() != node.answered_id();
    node.id
        .as_deref()
        .filter(|_| waits)
        .filter(other)
        .filter(foreign)
}

fn ask(facts: &Facts<'_>, ready: &Ready<'_>) -> Decision {
    let mut decision = working(facts, ready, scheduled(None));
    decision.node = Some(NodeWrite::Request {
        id: ready.id.clone(),
        image: ready.image.clone(),
        version: ready.text.to_owned(),
    });
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
    if let Some(detail) = unfit(node) {
        let why = Why::AgentUnfit {
            node: node.name.clone(),
            detail,
        };
        return working(facts, ready, Answer::Held(why));
    }
    if let Some(why) = &node.paused {
        // An agent begins nothing new then, and so has nothing to answer with.
        return waits_by_will(
            facts,
            ready,
            scheduled(Some(format!("paused: {}", clean(why)))),
        );
    }
    let limit = facts.policy.answer_seconds;
    let since = since(facts, &ready.id);
    if since.is_some_and(|since| facts.now - since >= limit) {
        let why = Why::NoAnswer {
            node: node.name.clone(),
            seconds: limit,
        };
        return working(facts, ready, Answer::Held(why));
    }
    let mut decision = working(facts, ready, scheduled(None));
    decision.again = since.and_then(|since| remaining(facts, since, limit));
    decision
}

/// An agent that works, but does not say on what.
fn unfit(node: &NodeFacts) -> Option<String> {
    if node.unreadable {
        return Some(format!("{} cannot be read", upgrade::names::STATUS));
    }
    let nameless = node.answer == Some(NodeAnswer::InProgress) && node.answered_id().is_none();
    nameless.then(|| format!("{} has no id", upgrade::names::STATUS))
}

fn since(facts: &Facts<'_>, id: &UpgradeId) -> Option<i64> {
    let mark = facts.machine.mark.as_ref()?;
    (mark.id == id.as_str()).then_some(mark.since)
}

fn remaining(facts: &Facts<'_>, begin: i64, limit: i64) -> Option<u64> {
    let left = begin + limit - facts.now;
    u64::try_from(left).ok().map(|left| left + 1)
}

/// The node works: the mark is on.
fn working(facts: &Facts<'_>, ready: &Ready<'_>, answer: Answer) -> Decision {
    let machine = facts.machine;
    let marked = machine
        .mark
        .as_ref()
        .is_some_and(|mark| mark.id == ready.id.as_str());
    Decision {
        mark: (!marked).then(|| MarkWrite::On(mark(facts, ready))),
        ..Decision::say(answer)
    }
}

/// The mark as it is made now.
fn mark(facts: &Facts<'_>, ready: &Ready<'_>) -> Mark {
    let machine = facts.machine;
    let ours = machine.mark.as_ref().is_some_and(|mark| mark.skip_is_ours);
    Mark {
        id: ready.id.to_string(),
        since: facts.now,
        skip_is_ours: ours || !machine.skips_remediation,
    }
}

/// The node is at rest: the mark goes.
pub(super) fn finished(facts: &Facts<'_>, answer: Answer) -> Decision {
    Decision {
        mark: facts.machine.mark.as_ref().map(|_| MarkWrite::Off),
        ..Decision::say(answer)
    }
}

/// Held before anything is asked. Who works on, or cannot be seen, keeps the mark; any other needs its health check back.
fn hold(facts: &Facts<'_>, why: Why) -> Decision {
    let keep = match facts.node {
        NodeView::Away(_) => true,
        NodeView::Missing => false,
        NodeView::Seen(node) => node.in_flight(),
    };
    if keep {
        return Decision::say(Answer::Held(why));
    }
    finished(facts, Answer::Held(why))
}
