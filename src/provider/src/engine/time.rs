//! The time that counts against a node.

use super::facts::Facts;
use super::machine::IN_ALL;

/// Seconds after which the provider checks whether it heard the API server.
const UNHEARD: i64 = 9;

/// When a node last moved: it got the request, or has reached a phase since. A time in the future
/// by its clock does not count. After this many limits, no phase counts.
fn moved(facts: &Facts<'_>, since: i64, reached: &[u64], limit: i64) -> i64 {
    let last = since.saturating_add(limit.saturating_mul(IN_ALL - 1));
    let reached = reached.iter().filter_map(|at| i64::try_from(*at).ok());
    let moved = reached.filter(|at| *at <= facts.now).fold(since, i64::max);
    moved.min(last)
}

/// When a node's time starts. Time during which it was not visible does not count.
pub(super) fn begun(facts: &Facts<'_>, since: i64, reached: &[u64], limit: i64) -> i64 {
    moved(facts, since, reached, limit).max(facts.seen)
}

/// Whether a node's time is over. A node whose time was over does not get new time from an absence
/// or from a restart of the provider. It must move.
pub(super) fn is_over(facts: &Facts<'_>, since: i64, reached: &[u64], limit: i64) -> bool {
    let from = if facts.machine.is_let_go() {
        moved(facts, since, reached, limit)
    } else {
        begun(facts, since, reached, limit)
    };
    facts.heard.min(facts.now).saturating_sub(from) >= limit
}

/// Seconds until just after the limit, or until the next look if nothing has been heard since.
pub(super) fn remaining(facts: &Facts<'_>, begin: i64, limit: i64) -> Option<u64> {
    let left = begin.saturating_add(limit).saturating_sub(facts.now);
    let left = if left > 0 { left } else { UNHEARD };
    u64::try_from(left).ok().map(|left| left + 1)
}
