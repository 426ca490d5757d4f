//! The wait for a node that has the request: within a limit, or for as long as the node chooses.

use super::answer::{Answer, Decision};
use super::facts::Facts;
use super::mark::{overdue, remake, since, working};
use super::ready::Ready;
use super::time::{begun, is_over, remaining};
use super::why::Why;

/// Returns this answer while the node moves within the limit. After the limit, returns why it is
/// stuck.
pub(super) fn within(
    facts: &Facts<'_>,
    ready: &Ready<'_>,
    limit: i64,
    answer: Answer,
    stuck: impl FnOnce() -> Why,
) -> Decision {
    let (since, reached) = (since(facts, &ready.id), &ready.node.reached);
    if since.is_some_and(|since| is_over(facts, since, reached, limit)) {
        return overdue(facts, Answer::Held(stuck()));
    }
    let mut decision = working(facts, ready, answer);
    let begun = since.map(|since| begun(facts, since, reached, limit));
    decision.again = begun.and_then(|begun| remaining(facts, begun, limit));
    decision
}

/// The node waits for its window, its soak or the end of a pause, for any length of time. The phase
/// that it last reached is old when the wait ends. So the provider renews the mark before half of
/// the time is over, which leaves the node the other half to continue.
pub(super) fn waits_by_will(facts: &Facts<'_>, ready: &Ready<'_>, answer: Answer) -> Decision {
    let half = facts.policy.upgrade_seconds / 2;
    let since = since(facts, &ready.id);
    let mut decision = working(facts, ready, answer);
    if since.is_some_and(|since| facts.now.saturating_sub(since) >= half) {
        decision.mark = Some(remake(facts, ready));
        decision.again = remaining(facts, facts.now, half);
    } else {
        decision.again = since.and_then(|since| remaining(facts, since, half));
    }
    decision
}
