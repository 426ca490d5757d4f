//! What time is held against a node.

use super::Facts;
use super::mark::is_let_go;

/// Seconds after which it is looked whether the API server was heard.
const UNHEARD: i64 = 9;

/// How many times the limit a node may take in all since it was asked. It writes itself which phases it reached, and when.
pub(super) const IN_ALL: i64 = 4;

/// When a node moved last: it was asked, or has reached a phase since. What its clock puts behind now says nothing, and after so many
/// limits no phase does.
fn moved(facts: &Facts<'_>, since: i64, reached: &[u64], limit: i64) -> i64 {
    let last = since.saturating_add(limit.saturating_mul(IN_ALL - 1));
    let reached = reached.iter().filter_map(|at| i64::try_from(*at).ok());
    let moved = reached.filter(|at| *at <= facts.now).fold(since, i64::max);
    moved.min(last)
}

/// From when its time counts. For as long as it could not be seen it does not.
pub(super) fn begun(facts: &Facts<'_>, since: i64, reached: &[u64], limit: i64) -> i64 {
    moved(facts, since, reached, limit).max(facts.seen)
}

/// Whether its time is over. One that was let go is not taken back into its time by an absence, or a restart of ours: only by moving.
pub(super) fn is_over(facts: &Facts<'_>, since: i64, reached: &[u64], limit: i64) -> bool {
    let from = if is_let_go(facts) {
        moved(facts, since, reached, limit)
    } else {
        begun(facts, since, reached, limit)
    };
    facts.heard.min(facts.now).saturating_sub(from) >= limit
}

/// Seconds until just behind the limit; or until the next look, where nothing has been heard since.
pub(super) fn remaining(facts: &Facts<'_>, begin: i64, limit: i64) -> Option<u64> {
    let left = begin.saturating_add(limit).saturating_sub(facts.now);
    let left = if left > 0 { left } else { UNHEARD };
    u64::try_from(left).ok().map(|left| left + 1)
}
