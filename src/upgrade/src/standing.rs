//! How far an upgrade stands in the way of changing the agent that serves it.

use crate::phase::Phase;
use crate::record::Record;

/// Whether the agents on a node may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Nothing is under way.
    Free,
    /// An upgrade is under way: nothing new is installed and nothing removed.
    UnderWay,
    /// A trial is armed or runs, or the way back is taken: what either system will run, and what leads to it, stays as it is to the byte.
    Frozen,
}

impl Standing {
    /// As the record says.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        match record.upgrade.as_ref().map(|up| (&up.phase, up.tries)) {
            None | Some((Phase::Upgraded | Phase::Failed { .. } | Phase::Halted { .. }, _)) => {
                Self::Free
            }
            // Between two trials the next boot is as near.
            Some((
                Phase::Accepted
                | Phase::Fetched
                | Phase::Verified
                | Phase::Deployed
                | Phase::Drained,
                0,
            )) => Self::UnderWay,
            Some((
                Phase::Accepted
                | Phase::Fetched
                | Phase::Verified
                | Phase::Deployed
                | Phase::Drained
                | Phase::Armed { .. }
                | Phase::Trial { .. }
                | Phase::Healthy { .. }
                | Phase::Blessed
                | Phase::Reverting { .. },
                _,
            )) => Self::Frozen,
        }
    }
}
