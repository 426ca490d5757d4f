//! What a decision on a machine is made of.

use crate::claim::{Claim, HostRef};
use crate::why::Why;

/// A write. Each states the version of the object that the decision is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Add our finalizer to the machine.
    AddFinalizer,
    /// Remove it.
    RemoveFinalizer,
    /// Write the host into the machine: the first half of a claim.
    SetHost(HostRef),
    /// Remove the host from the machine. The host that failed it is not tried again.
    ClearHost {
        /// That host, if one failed.
        tried: Option<Failed>,
    },
    /// Write the claim into the host, which has none: the second half.
    PutClaim(Claim),
    /// From now on the machine keeps its host.
    Commit,
    /// Copy the bootstrap data of this hash into the host's Secret.
    CopyData {
        /// The SHA-256.
        hash: String,
    },
    /// Tell the host that its data have this hash.
    TellData {
        /// The SHA-256.
        hash: String,
    },
    /// Remove the bootstrap data from the host's Secret.
    RemoveData,
    /// Write the provider id into the machine.
    SetProviderId(String),
    /// Say that the machine is provisioned.
    SetProvisioned,
    /// Order the host to leave.
    Release,
    /// Write into the claim that the host was given up.
    GiveUp,
}

/// A host that failed a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The host.
    pub host: String,
    /// It says that the image failed on it.
    pub by_image: bool,
}

/// What to write, and what the machine waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The write, if one is due.
    pub act: Option<Act>,
    /// What the machine waits for.
    pub why: Why,
    /// Decide again after this many seconds, even if nothing changes.
    pub again: Option<u64>,
}

/// How often a deadline is looked at.
const SOON: u64 = 15;

impl Decision {
    /// Writes this.
    pub(crate) const fn write(act: Act) -> Self {
        Self {
            act: Some(act),
            why: Why::Moving,
            again: None,
        }
    }

    /// Writes this because of that.
    pub(crate) const fn because(act: Act, why: Why) -> Self {
        Self {
            act: Some(act),
            why,
            again: None,
        }
    }

    /// Waits for an event.
    pub(crate) const fn wait(why: Why) -> Self {
        Self {
            act: None,
            why,
            again: None,
        }
    }

    /// Waits for an event or for a deadline.
    pub(crate) fn look_again(why: Why) -> Self {
        Self {
            again: Some(SOON),
            ..Self::wait(why)
        }
    }
}
