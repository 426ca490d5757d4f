//! The mark on a Machine. The provider writes it before the request. The mark keeps health checks
//! off while the node has its time. The provider removes it when nothing of its own is left on the
//! Node or in transit.

use requests::NodeFacts;
use upgrade::UpgradeId;

use super::answer::{Answer, Decision, Mark, MarkWrite};
use super::facts::{Facts, NodeView};
use super::hurt::keeps_its_mark;
use super::machine::others_id;
use super::ready::Ready;
use super::time::{begun, is_over, remaining};
use super::why::Why;

/// The maximum age, in seconds, of a mark when the provider sends a request.
/// [`super::Policy::landing_seconds`] includes it.
const FRESH: i64 = 10;

/// When this request was marked. A mark in the far future counts as none.
pub(super) fn since(facts: &Facts<'_>, id: &UpgradeId) -> Option<i64> {
    let mark = facts.machine.mark.as_ref()?;
    let of_this = mark.id == id.as_str() && !is_ahead(facts, mark.since);
    of_this.then_some(mark.since)
}

/// Whether this request was marked a moment ago.
pub(super) fn is_fresh(facts: &Facts<'_>, id: &UpgradeId) -> bool {
    since(facts, id).is_some_and(|since| (0..FRESH).contains(&facts.now.saturating_sub(since)))
}

/// The node works: the mark is on, and the skip-remediation annotation, from any writer, keeps
/// health checks off.
pub(super) fn working(facts: &Facts<'_>, ready: &Ready<'_>, answer: Answer) -> Decision {
    let is_marked = since(facts, &ready.id).is_some();
    Decision {
        mark: (!is_marked || facts.machine.is_let_go()).then(|| remake(facts, ready)),
        ..Decision::say(answer)
    }
}

/// A mark with the current time.
pub(super) fn remake(facts: &Facts<'_>, ready: &Ready<'_>) -> MarkWrite {
    let machine = facts.machine;
    let ours = machine.mark.as_ref().is_some_and(|mark| mark.skip_is_ours);
    MarkWrite::On(Mark {
        id: ready.id.to_string(),
        since: facts.now,
        skip_is_ours: ours || !machine.skips_remediation,
    })
}

/// Whether a mark comes from a clock that was far ahead, so that a deadline computed from it would
/// never expire. The tolerance for a clock that is ahead or was set back is the time that a request
/// may be in transit.
fn is_ahead(facts: &Facts<'_>, since: i64) -> bool {
    since.saturating_sub(facts.now) > facts.policy.landing_seconds
}

/// Renews the mark with the current time and keeps its other fields. Decides again when this limit
/// expires.
fn as_of_now(facts: &Facts<'_>, mark: &Mark, limit: i64, answer: Answer) -> Decision {
    Decision {
        mark: Some(MarkWrite::On(Mark {
            since: facts.now,
            ..mark.clone()
        })),
        again: remaining(facts, facts.now, limit),
        ..Decision::say(answer)
    }
}

/// The node's time is over, so health checks apply again. The mark stays, because the Node still
/// has the request.
pub(super) fn overdue(facts: &Facts<'_>, answer: Answer) -> Decision {
    if keeps_its_mark(facts) {
        return Decision::say(answer);
    }
    let ours = facts.machine.mark.as_ref().filter(|mark| mark.skip_is_ours);
    let let_go = |mark: &Mark| {
        MarkWrite::On(Mark {
            skip_is_ours: false,
            ..mark.clone()
        })
    };
    Decision {
        mark: ours.map(let_go),
        ..Decision::say(answer)
    }
}

/// The request has its final answer, so the mark is removed, unless it protects a hurt member.
pub(super) fn finished(facts: &Facts<'_>, answer: Answer) -> Decision {
    let mark = facts.machine.mark.as_ref();
    let mark = mark.filter(|_| !keeps_its_mark(facts));
    Decision {
        mark: mark.map(|_| MarkWrite::Off),
        ..Decision::say(answer)
    }
}

/// The Node shows nothing of the provider. A request from another replica may still be in transit,
/// and nobody would withdraw it after it arrives. So the mark is removed only when it is too late
/// for that. By a clock that was set back, it is not yet too late.
pub(super) fn at_rest(facts: &Facts<'_>, answer: Answer) -> Decision {
    let landing = facts.policy.landing_seconds;
    match &facts.machine.mark {
        Some(mark) if is_ahead(facts, mark.since) => as_of_now(facts, mark, landing, answer),
        Some(mark) if facts.now.saturating_sub(mark.since) < landing => Decision {
            again: remaining(facts, mark.since, landing),
            ..Decision::say(answer)
        },
        Some(_) | None => finished(facts, answer),
    }
}

/// The node works on something, and the provider must not send it a request now. The mark stays,
/// with its protection as long as the node has its time.
pub(super) fn in_hand(facts: &Facts<'_>, node: &NodeFacts, answer: Answer) -> Decision {
    protected(facts, &node.reached, facts.policy.upgrade_seconds, answer)
}

/// The mark stays. Health checks stay off until this limit expires.
fn protected(facts: &Facts<'_>, reached: &[u64], limit: i64, answer: Answer) -> Decision {
    let Some(mark) = &facts.machine.mark else {
        return Decision::say(answer);
    };
    if is_ahead(facts, mark.since) {
        return as_of_now(facts, mark, limit, answer);
    }
    if is_over(facts, mark.since, reached, limit) {
        return overdue(facts, answer);
    }
    let begun = begun(facts, mark.since, reached, limit);
    Decision {
        again: remaining(facts, begun, limit),
        ..Decision::say(answer)
    }
}

/// Core does not say what it wants: the provider has just started, or core is gone. The provider
/// requests and withdraws nothing. Health checks apply again when the node's time is over, or, for
/// a node at rest, when core should have called long ago. The mark stays until core calls.
pub(super) fn unheard(facts: &Facts<'_>) -> Decision {
    let answer = Answer::Untold;
    let limit = facts.policy.answer_seconds;
    match facts.node {
        NodeView::Away(_) => Decision::say(answer),
        NodeView::Seen(node) if others_id(facts.machine, node).is_some() => {
            protected(facts, &[], limit, answer)
        }
        NodeView::Seen(node) if node.in_flight() => in_hand(facts, node, answer),
        NodeView::Seen(_) | NodeView::Missing => protected(facts, &[], limit, answer),
    }
}

/// The upgrade is blocked before any request. A node that works or is not visible keeps the mark.
/// Any other Machine needs its health check back.
pub(super) fn hold(facts: &Facts<'_>, why: Why) -> Decision {
    let answer = Answer::Held(why);
    match facts.node {
        NodeView::Away(_) => Decision::say(answer),
        NodeView::Missing => finished(facts, answer),
        NodeView::Seen(node) if others_id(facts.machine, node).is_some() => at_rest(facts, answer),
        NodeView::Seen(node) if node.in_flight() => in_hand(facts, node, answer),
        NodeView::Seen(_) => at_rest(facts, answer),
    }
}
