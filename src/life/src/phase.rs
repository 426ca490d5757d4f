//! The phases of a host, as in `status.phase` of its CareenHost.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far a host has come. Whether it is alive is not a phase: its Lease says that.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Phase {
    /// It is registered, and is not known to be clean in this boot.
    #[default]
    Registered,
    /// It is clean in this boot, and may be claimed.
    Available,
    /// It is claimed, and brings the image of its claim to the disk.
    Imaging,
    /// It runs the image of its claim, and waits for bootstrap data or runs them.
    Joining,
    /// It is a node of its cluster.
    Joined,
    /// It is released, and its old kubelet may still come back.
    Fencing,
    /// Its old kubelet cannot come back. It removes what the cluster has left.
    Cleaning,
    /// Its join failed. It waits for its release.
    Failed,
    /// It is fenced and not clean. It waits for a person.
    Quarantined,
}

impl Phase {
    /// All phases, in the order of a host's life.
    pub const ALL: [Self; 9] = [
        Self::Registered,
        Self::Available,
        Self::Imaging,
        Self::Joining,
        Self::Joined,
        Self::Fencing,
        Self::Cleaning,
        Self::Failed,
        Self::Quarantined,
    ];

    /// Whether the host cannot come back as the Node of the claim that the status names as
    /// observed. Careen's finalizer may go.
    #[must_use]
    pub const fn is_fenced(self) -> bool {
        match self {
            Self::Registered | Self::Available | Self::Cleaning | Self::Quarantined => true,
            Self::Imaging | Self::Joining | Self::Joined | Self::Fencing | Self::Failed => false,
        }
    }

    /// Whether the host has taken up the observed claim, and is not done with it.
    #[must_use]
    pub const fn serves(self) -> bool {
        match self {
            Self::Registered | Self::Available => false,
            Self::Imaging
            | Self::Joining
            | Self::Joined
            | Self::Fencing
            | Self::Cleaning
            | Self::Failed
            | Self::Quarantined => true,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
