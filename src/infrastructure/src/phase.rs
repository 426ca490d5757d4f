//! What a host does, in its own words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The phase of a host. The host writes it. Whether the host is alive is not a phase: its Lease
/// says that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// It has registered, and is not ready to be claimed.
    #[default]
    Registered,
    /// It is clean since its last boot and can be claimed.
    Available,
    /// It brings itself to the image of its claim.
    Imaging,
    /// It runs the image of its claim, and waits for the bootstrap data or runs them.
    Joining,
    /// It is a node of its cluster.
    Joined,
    /// It makes sure that its kubelet cannot come back.
    Fencing,
    /// It removes what the cluster left on it.
    Cleaning,
    /// It cannot go on with its claim. It waits to be released.
    Failed,
    /// A person must look at it.
    Quarantined,
}

impl Phase {
    /// Each phase.
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

    /// Whether the kubelet of the observed claim cannot come back.
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
