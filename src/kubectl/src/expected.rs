//! How long an upgrade takes, according to this cluster's nodes, and how long one has taken so far.

use upgrade::history::{self, Past};
use upgrade::record::Reached;

use crate::duration;
use crate::standing::Standing;
use crate::view::NodeView;

/// Statistics of past upgrades.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The working time of each successful upgrade, in seconds, shortest first.
    known: Vec<u64>,
}

impl Expected {
    /// Collects all upgrades that these nodes remember.
    #[must_use]
    pub fn learn<'a>(nodes: impl IntoIterator<Item = &'a NodeView>) -> Self {
        let mut known: Vec<u64> = nodes.into_iter().flat_map(worked_before).collect();
        known.sort_unstable();
        Self { known }
    }

    /// The median in seconds, or nothing without data.
    #[must_use]
    pub fn seconds(&self) -> Option<u64> {
        history::usual(self.known.clone())
    }

    /// The working seconds that the current upgrade is expected to need; 0 if it already takes
    /// longer.
    #[must_use]
    pub fn left(&self, node: &NodeView, now: u64) -> Option<u64> {
        let is_under_way = Standing::of(node) == Standing::Working;
        let expected = self.seconds().filter(|_| is_under_way)?;
        Some(expected.saturating_sub(worked(node, now)?))
    }

    /// The number of upgrades in the statistics.
    #[must_use]
    pub const fn of(&self) -> usize {
        self.known.len()
    }
}

/// The successful upgrades that one node remembers.
fn worked_before(node: &NodeView) -> Vec<u64> {
    let past = node.history.iter().flatten();
    let mut known: Vec<u64> = past.filter_map(Past::worked).collect();
    // An agent without a history still shows its last upgrade.
    if known.is_empty() && Standing::of(node) == Standing::Upgraded {
        known.extend(worked(node, u64::MAX).filter(|_| tries(node) > 0));
    }
    known.retain(history::teaches);
    known
}

fn tries(node: &NodeView) -> u32 {
    node.reply.status.as_ref().map_or(0, |status| status.tries)
}

/// The duration in seconds of the current or last upgrade. `now` is in seconds since 1970.
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
    Some(duration::between(began, until))
}

/// The part of these seconds in which it waited for its operator: outside the window, or paused.
#[must_use]
pub fn waited(node: &NodeView, now: u64) -> Option<u64> {
    let all = elapsed(node, now)?;
    let status = node.reply.status.as_ref()?;
    let before = status.reached.iter().map(|phase| phase.waited);
    let since = status
        .waiting_since
        .map_or(0, |since| duration::between(since, now));
    let waited = before.fold(since, u64::saturating_add);
    Some(waited.min(all))
}

/// The part of these seconds in which it worked.
#[must_use]
pub fn worked(node: &NodeView, now: u64) -> Option<u64> {
    Some(elapsed(node, now)?.saturating_sub(waited(node, now)?))
}

/// Since when it is in its current phase.
#[must_use]
pub fn in_phase_since(node: &NodeView) -> Option<u64> {
    let last: &Reached = node.reply.status.as_ref()?.reached.last()?;
    Some(last.at)
}
