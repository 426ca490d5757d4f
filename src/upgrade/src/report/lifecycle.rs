//! How far the node is from its users, in the words of KEP-5683.
//!
//! The conditions are plain types of Node conditions: a server that does not know them keeps them
//! as well (kubernetes/enhancements, keps/sig-node/5683-lifecycle-conditions; kubernetes/kubernetes
//! #139993, alpha in 1.37).

use crate::names;
use crate::phase::Phase;
use crate::record::Upgrade;

/// How far the node is from its users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// It serves, and no upgrade is under way.
    #[default]
    Serving,
    /// An upgrade is under way, and the node still serves.
    Planned,
    /// The node is being drained.
    Draining,
    /// It is drained, and about to reboot, on trial, or on the way back.
    Drained,
}

impl Lifecycle {
    /// The conditions that are `True`. A drain is not yet maintenance: pods still end in their own
    /// time, and a controller that counts them as gone would start their successors too early
    /// (story 2 of the KEP).
    #[must_use]
    pub const fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::Serving => &[],
            Self::Planned => &[names::MAINTENANCE_PLANNED],
            Self::Draining => &[names::MAINTENANCE_PLANNED, names::DRAIN_IN_PROGRESS],
            Self::Drained => &[names::MAINTENANCE_IN_PROGRESS, names::DRAINED],
        }
    }
}

impl From<&Upgrade> for Lifecycle {
    fn from(up: &Upgrade) -> Self {
        let taken = up.custody.taken();
        let drains = taken.is_some_and(|taken| taken.drain_begun.is_some());
        match up.phase {
            Phase::Accepted | Phase::Fetched | Phase::Verified => Self::Planned,
            Phase::Deployed if drains => Self::Draining,
            Phase::Deployed => Self::Planned,
            Phase::Drained
            | Phase::Armed { .. }
            | Phase::Trial { .. }
            | Phase::Healthy { .. }
            | Phase::Blessed
                if taken.is_some() =>
            {
                Self::Drained
            }
            // A drain that was given up leaves nothing drained.
            Phase::Reverting { .. } | Phase::Halted { .. }
                if taken.is_some() && up.attempt.tries > 0 =>
            {
                Self::Drained
            }
            Phase::Drained
            | Phase::Armed { .. }
            | Phase::Trial { .. }
            | Phase::Healthy { .. }
            | Phase::Blessed
            | Phase::Reverting { .. }
            | Phase::Halted { .. }
            | Phase::Upgraded
            | Phase::Failed { .. } => Self::Serving,
        }
    }
}
