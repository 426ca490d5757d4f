//! What time is held against a node.

use super::Facts;

/// From when the node's time counts: it was asked, or has reached a phase since, or could not be seen until then. What its clock puts
/// behind now says nothing.
pub(super) fn begun(facts: &Facts<'_>, since: i64, reached: &[u64]) -> i64 {
    let reached = reached.iter().filter_map(|at| i64::try_from(*at).ok());
    let reached = reached.filter(|at| *at <= facts.now);
    reached.fold(since.max(facts.seen), i64::max)
}

/// Seconds until just behind the limit.
pub(super) fn remaining(facts: &Facts<'_>, begin: i64, limit: i64) -> Option<u64> {
    let left = begin + limit - facts.now;
    u64::try_from(left).ok().map(|left| left + 1)
}
