//! The mark on a Machine: it goes on before its node is asked, keeps health checks off for as long as the node has its time, and comes
//! off when nothing of ours is left on the Node or on its way there.

use requests::NodeFacts;
use upgrade::UpgradeId;

use super::decide::{Ready, others_id};
use super::time::{begun, is_over, remaining};
use super::{Answer, Decision, Facts, Mark, MarkWrite, NodeView, Why};

/// How old, in seconds, a mark may be when a request is sent. [`super::Policy::landing_seconds`] is made of it.
const FRESH: i64 = 10;

/// When this request was marked. A mark of the far future is as good as none.
pub(super) fn since(facts: &Facts<'_>, id: &UpgradeId) -> Option<i64> {
    let mark = facts.machine.mark.as_ref()?;
    let of_this = mark.id == id.as_str() && !is_ahead(facts, mark.since);
    of_this.then_some(mark.since)
}

/// Whether this request was marked a moment ago.
pub(super) fn is_fresh(facts: &Facts<'_>, id: &UpgradeId) -> bool {
    since(facts, id).is_some_and(|since| (0..FRESH).contains(&facts.now.saturating_sub(since)))
}

/// The node works: the mark is on, and somebody's annotation keeps health checks off.
pub(super) fn working(facts: &Facts<'_>, ready: &Ready<'_>, answer: Answer) -> Decision {
    let is_marked = since(facts, &ready.id).is_some();
    Decision {
        mark: (!is_marked || is_let_go(facts)).then(|| remake(facts, ready)),
        ..Decision::say(answer)
    }
}

/// Marked, and health checks have their say: our annotation was taken off when the node's time was over, or somebody else's has gone.
pub(super) fn is_let_go(facts: &Facts<'_>) -> bool {
    let machine = facts.machine;
    let ours = machine.mark.as_ref().map(|mark| mark.skip_is_ours);
    ours == Some(false) && !machine.skips_remediation
}

/// The mark as it is made now.
pub(super) fn remake(facts: &Facts<'_>, ready: &Ready<'_>) -> MarkWrite {
    let machine = facts.machine;
    let ours = machine.mark.as_ref().is_some_and(|mark| mark.skip_is_ours);
    MarkWrite::On(Mark {
        id: ready.id.to_string(),
        since: facts.now,
        skip_is_ours: ours || !machine.skips_remediation,
    })
}

/// Whether a mark is of a clock that was far ahead: what counts from it would come to no end. By as much as a request may be on its way one
/// clock may be ahead of another, or have gone back.
fn is_ahead(facts: &Facts<'_>, since: i64) -> bool {
    since.saturating_sub(facts.now) > facts.policy.landing_seconds
}

/// Made anew as of now, and otherwise as it was; looked at again when this limit is over.
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

/// The node's time is over: health checks have their say again. The mark itself stays, for the Node still has the request.
pub(super) fn overdue(facts: &Facts<'_>, answer: Answer) -> Decision {
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

/// The request has its last word: the mark goes.
pub(super) fn finished(facts: &Facts<'_>, answer: Answer) -> Decision {
    Decision {
        mark: facts.machine.mark.as_ref().map(|_| MarkWrite::Off),
        ..Decision::say(answer)
    }
}

/// Nothing of ours is to be seen on the Node. But a request that one of us wrote may be on its way, and would then stand there with
/// nobody to take it back: so the mark goes only when it is too late for that. By a clock that has gone back it is not yet.
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

/// The node has something in hand that it is not to be asked for now: the mark stays, with its protection as long as it has its time.
pub(super) fn in_hand(facts: &Facts<'_>, node: &NodeFacts, answer: Answer) -> Decision {
    protected(facts, &node.reached, facts.policy.upgrade_seconds, answer)
}

/// The mark stays, and what keeps health checks off as long as this limit is not over.
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

/// Core does not say what it wants: we have just started, or it is gone. Nothing is asked and nothing taken back. But health checks have
/// their say again when the node's time is over, or at rest when core should have called long ago; the mark stays for what it will say.
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

/// Held before anything is asked. Who works on, or cannot be seen, keeps the mark; any other needs its health check back.
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
