//! How far an upgrade has come. A phase names what was reached, not what is in progress.

use serde::{Deserialize, Serialize};

use crate::id::BootId;
use crate::reason::Reason;

/// The phases of a node's upgrade, in order. The last four are the ends and the way to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name")]
pub enum Phase {
    /// The request was accepted; nothing has changed yet.
    Accepted,
    /// The commit is in the repository, and its signature is verified.
    Fetched,
    /// The commit is the one requested and may run on this node.
    Verified,
    /// The new deployment is on the disk beside the running system.
    Deployed,
    /// The node is cordoned and its pods are gone.
    Drained,
    /// A trial boot is counted; its one-shot entry is written or is about to be.
    Armed {
        /// The boot in which it was armed.
        boot: BootId,
    },
    /// The new system runs but is not proven.
    Trial {
        /// The boot it runs in.
        boot: BootId,
    },
    /// The new system has proved itself in this boot.
    Healthy {
        /// The boot in which it was judged.
        boot: BootId,
    },
    /// The new system is the default.
    Blessed,
    /// The upgrade is done and reported, and the node is schedulable.
    Upgraded,
    /// Going back to the old system.
    Reverting {
        /// Why.
        reason: Reason,
    },
    /// The old system serves, and the request is answered.
    Failed {
        /// Why.
        reason: Reason,
    },
    /// Only a person can resolve this.
    Halted {
        /// Why.
        reason: Reason,
    },
}

/// The groups of phases, in order: most rules depend only on the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class<'a> {
    /// Accepted to Drained: the old system runs, and no trial is armed.
    Preparing,
    /// Armed, Trial or Healthy: a boot of the new system is armed, runs or is judged.
    Trying {
        /// The boot in which it was armed, runs or was judged.
        boot: &'a BootId,
    },
    /// The new system is the default.
    Blessed,
    /// Going back to the old system.
    Reverting {
        /// Why.
        reason: &'a Reason,
    },
    /// Ended in the new system.
    Upgraded,
    /// Ended in the old system.
    Failed {
        /// Why.
        reason: &'a Reason,
    },
    /// Only a person can resolve this.
    Halted {
        /// Why.
        reason: &'a Reason,
    },
}

impl Phase {
    /// The group that the phase belongs to.
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

    /// Why the upgrade ended, if it failed or halted.
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

    /// The names of all phases, in order.
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

    /// The phase's name, for display and for the status.
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

    /// Whether the request is answered and a new one may be accepted.
    #[must_use]
    pub const fn is_end(&self) -> bool {
        match self.class() {
            Class::Upgraded | Class::Failed { .. } | Class::Halted { .. } => true,
            Class::Preparing | Class::Trying { .. } | Class::Blessed | Class::Reverting { .. } => {
                false
            }
        }
    }

    /// Whether withdrawing the request still stops the upgrade.
    #[must_use]
    pub const fn can_be_withdrawn(&self) -> bool {
        match self.class() {
            Class::Preparing => true,
            Class::Trying { .. }
            | Class::Blessed
            | Class::Reverting { .. }
            | Class::Upgraded
            | Class::Failed { .. }
            | Class::Halted { .. } => false,
        }
    }

    /// Whether the new system is the default for good, so that the deadman is no longer needed. A
    /// system that is only healthy may still be reverted.
    #[must_use]
    pub const fn is_proven(&self) -> bool {
        match self {
            Self::Blessed | Self::Upgraded => true,
            Self::Accepted
            | Self::Fetched
            | Self::Verified
            | Self::Deployed
            | Self::Drained
            | Self::Armed { .. }
            | Self::Trial { .. }
            | Self::Healthy { .. }
            | Self::Reverting { .. }
            | Self::Failed { .. }
            | Self::Halted { .. } => false,
        }
    }

    /// Whether a trial is armed or runs, and nothing is known of its end.
    #[must_use]
    pub const fn awaits_a_verdict(&self) -> bool {
        match self {
            Self::Armed { .. } | Self::Trial { .. } => true,
            Self::Accepted
            | Self::Fetched
            | Self::Verified
            | Self::Deployed
            | Self::Drained
            | Self::Healthy { .. }
            | Self::Blessed
            | Self::Upgraded
            | Self::Reverting { .. }
            | Self::Failed { .. }
            | Self::Halted { .. } => false,
        }
    }

    /// Whether the agent does not know yet that the image may run here.
    #[must_use]
    pub const fn is_before_the_verification(&self) -> bool {
        match self {
            Self::Accepted | Self::Fetched => true,
            Self::Verified
            | Self::Deployed
            | Self::Drained
            | Self::Armed { .. }
            | Self::Trial { .. }
            | Self::Healthy { .. }
            | Self::Blessed
            | Self::Upgraded
            | Self::Reverting { .. }
            | Self::Failed { .. }
            | Self::Halted { .. } => false,
        }
    }

    /// Whether the image may run here, and the node is not drained for it.
    #[must_use]
    pub const fn is_before_the_drain(&self) -> bool {
        match self {
            Self::Verified | Self::Deployed => true,
            Self::Accepted
            | Self::Fetched
            | Self::Drained
            | Self::Armed { .. }
            | Self::Trial { .. }
            | Self::Healthy { .. }
            | Self::Blessed
            | Self::Upgraded
            | Self::Reverting { .. }
            | Self::Failed { .. }
            | Self::Halted { .. } => false,
        }
    }

    /// Whether the trial has ended well, and the node is not given back yet.
    #[must_use]
    pub const fn has_a_good_verdict(&self) -> bool {
        match self {
            Self::Healthy { .. } | Self::Blessed => true,
            Self::Accepted
            | Self::Fetched
            | Self::Verified
            | Self::Deployed
            | Self::Drained
            | Self::Armed { .. }
            | Self::Trial { .. }
            | Self::Upgraded
            | Self::Reverting { .. }
            | Self::Failed { .. }
            | Self::Halted { .. } => false,
        }
    }
}
