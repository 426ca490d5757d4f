//! How far an upgrade has come. A phase names what has been reached, not what is being done.

use serde::{Deserialize, Serialize};

use crate::id::BootId;
use crate::reason::Reason;

/// The phases of a worker's upgrade, in order; the last four are ends and the way to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name")]
pub enum Phase {
    /// The request is taken; nothing is touched yet.
    Accepted,
    /// The commit lies in the repository, its signature verified.
    Fetched,
    /// The commit is what was asked for and may run here.
    Verified,
    /// It lies beside the running system.
    Deployed,
    /// The node is cordoned and its pods are gone.
    Drained,
    /// One trial boot is counted; its one-shot entry is written or about to be.
    Armed {
        /// The boot that armed.
        boot: BootId,
    },
    /// The new system runs, unproven.
    Trial {
        /// The boot it runs in.
        boot: BootId,
    },
    /// The new system has proved itself in this boot.
    Healthy {
        /// The boot it was judged in.
        boot: BootId,
    },
    /// The new system is the default.
    Blessed,
    /// Done, reported and schedulable.
    Upgraded,
    /// On the way back to the old system.
    Reverting {
        /// Why.
        reason: Reason,
    },
    /// The old system serves; the request is answered.
    Failed {
        /// Why.
        reason: Reason,
    },
    /// Only a person can help.
    Halted {
        /// Why.
        reason: Reason,
    },
}

/// The stretches of an upgrade, in order: what most rules ask of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class<'a> {
    /// Accepted to Drained: the old system runs, and no trial is armed.
    Preparing,
    /// Armed, Trial or Healthy: one boot of the new system comes, runs or is judged.
    Trying {
        /// The boot that armed it, that it runs in or that it was judged in.
        boot: &'a BootId,
    },
    /// The new system is the default.
    Blessed,
    /// On the way back to the old system.
    Reverting {
        /// Why.
        reason: &'a Reason,
    },
    /// Ended well.
    Upgraded,
    /// Ended in the old system.
    Failed {
        /// Why.
        reason: &'a Reason,
    },
    /// Only a person can help.
    Halted {
        /// Why.
        reason: &'a Reason,
    },
}

impl Phase {
    /// Which stretch of an upgrade it is of.
    #[must_use]
    pub const fn class(&self) -> Class<'_> {
        match self {
            Self::Accepted | Self::Fetched | Self::Verified | Self::Deployed | Self::Drained => {
                Class::Preparing
            }
            Self::Armed { boot } | Self::Trial { boot } | Self::Healthy { boot } => {
                Class::Trying { boot }
            }
            Self::Blessed => Class::Blessed,
            Self::Reverting { reason } => Class::Reverting { reason },
            Self::Upgraded => Class::Upgraded,
            Self::Failed { reason } => Class::Failed { reason },
            Self::Halted { reason } => Class::Halted { reason },
        }
    }

    /// Why it has ended, if it has not ended well.
    #[must_use]
    pub const fn failure(&self) -> Option<&Reason> {
        match self.class() {
            Class::Failed { reason } | Class::Halted { reason } => Some(reason),
            Class::Preparing
            | Class::Trying { .. }
            | Class::Blessed
            | Class::Reverting { .. }
            | Class::Upgraded => None,
        }
    }

    /// The names of all phases, in their order.
    pub const NAMES: [&'static str; 13] = [
        "Accepted",
        "Fetched",
        "Verified",
        "Deployed",
        "Drained",
        "Armed",
        "Trial",
        "Healthy",
        "Blessed",
        "Upgraded",
        "Reverting",
        "Failed",
        "Halted",
    ];

    /// The phase's name, for people and for the status.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Fetched => "Fetched",
            Self::Verified => "Verified",
            Self::Deployed => "Deployed",
            Self::Drained => "Drained",
            Self::Armed { .. } => "Armed",
            Self::Trial { .. } => "Trial",
            Self::Healthy { .. } => "Healthy",
            Self::Blessed => "Blessed",
            Self::Upgraded => "Upgraded",
            Self::Reverting { .. } => "Reverting",
            Self::Failed { .. } => "Failed",
            Self::Halted { .. } => "Halted",
        }
    }

    /// Whether the request is answered and a new one may be taken.
    #[must_use]
    pub const fn is_end(&self) -> bool {
        matches!(
            self.class(),
            Class::Upgraded | Class::Failed { .. } | Class::Halted { .. }
        )
    }

    /// Whether a withdrawn request still stops it.
    #[must_use]
    pub const fn can_be_withdrawn(&self) -> bool {
        matches!(self.class(), Class::Preparing)
    }

    /// Whether the new system is the default for good: the deadman has no more to do. One that is only healthy may yet have to leave.
    #[must_use]
    pub const fn is_proven(&self) -> bool {
        matches!(self, Self::Blessed | Self::Upgraded)
    }
}
