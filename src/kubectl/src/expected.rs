//! How long an upgrade takes, by what this cluster's own nodes say of theirs; and how long one has taken so far.

use upgrade::history::{self, Past};
use upgrade::record::Reached;

use crate::span;
use crate::standing::Standing;
use crate::view::NodeView;

/// What the past teaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Seconds at work of each upgrade that went well, the shortest first.
    known: Vec<u64>,
}

impl Expected {
    /// From all that these nodes remember.
    #[must_use]
    pub fn learn<'a>(nodes: impl IntoIterator<Item = &'a NodeView>) -> Self {
        let mut known: Vec<u64> = nodes.into_iter().flat_map(worked_before).collect();
        known.sort_unstable();
        Self { known }
    }

    /// The median, in seconds; none where nothing is known.
    #[must_use]
    pub fn seconds(&self) -> Option<u64> {
        history::usual(self.known.clone())
    }

    /// Seconds of work that the upgrade under way has left by it; 0 where it takes longer already.
    #[must_use]
    pub fn left(&self, node: &NodeView, now: u64) -> Option<u64> {
        let is_under_way = Standing::of(node) == Standing::Working;
        let expected = self.seconds().filter(|_| is_under_way)?;
        Some(expected.saturating_sub(worked(node, now)?))
    }

    /// Of so many upgrades.
    #[must_use]
    pub const fn of(&self) -> usize {
        self.known.len()
    }
}

/// The good upgrades that one node remembers.
fn worked_before(node: &NodeView) -> Vec<u64> {
    let past = node.history.iter().flatten();
    let mut known: Vec<u64> = past.filter_map(Past::worked).collect();
    // An agent without a history still shows its last one.
    if known.is_empty() && Standing::of(node) == Standing::Upgraded {
        known.extend(worked(node, u64::MAX).filter(|_| tries(node) > 0));
    }
    known.retain(history::teaches);
    known
}

fn tries(node: &NodeView) -> u32 {
    node.reply.status.as_ref().map_or(0, |status| status.tries)
}

/// Seconds that the upgrade under way, or the last one, has taken. `now` is in seconds since 1970.
#[must_use]
pub fn elapsed(node: &NodeView, now: u64) -> Option<u64> {
    let reached = &node.reply.status.as_ref()?.reached;
    let began = reached.first()?.at;
    let until = match Standing::of(node) {
        Standing::Upgraded | Standing::Failed | Standing::Refused | Standing::Halted => {
            reached.last()?.at
        }
        Standing::Working => now,
        Standing::Idle | Standing::Asked | Standing::Held => return None,
    };
    Some(span::between(began, until))
}

/// Seconds of these in which it waited for its operator: outside of the hours, or paused.
#[must_use]
pub fn waited(node: &NodeView, now: u64) -> Option<u64> {
    let all = elapsed(node, now)?;
    let status = node.reply.status.as_ref()?;
    let before = status.reached.iter().map(|phase| phase.waited);
    let since = status
        .waiting_since
        .map_or(0, |since| span::between(since, now));
    let waited = before.fold(since, u64::saturating_add);
    Some(waited.min(all))
}

/// Seconds of these in which it was at work.
#[must_use]
pub fn worked(node: &NodeView, now: u64) -> Option<u64> {
    Some(elapsed(node, now)?.saturating_sub(waited(node, now)?))
}

/// Since when it is in the phase that it is in.
#[must_use]
pub fn in_phase_since(node: &NodeView) -> Option<u64> {
    let last: &Reached = node.reply.status.as_ref()?.reached.last()?;
    Some(last.at)
}
