//! What a host does. Each step can be repeated, except the join.

use crate::claim::{Claim, ClaimId};

/// The act of a decision. The caller writes the record first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing until something changes.
    Wait,
    /// Observe and decide again at once.
    Look,
    /// This step, then observe and decide again.
    Do(Step),
}

/// One effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Asks careen-agent for the image of the claim.
    AskImage(Box<Claim>),
    /// Withdraws what was asked of careen-agent.
    WithdrawImage,
    /// Runs the bootstrap data. Only the decision that first says so may have it performed.
    Join(Box<Claim>),
    /// Ends a run of the bootstrap data.
    EndJoin(ClaimId),
    /// Ends a run of the bootstrap data and makes the old kubelet unable to come back.
    Fence(ClaimId),
    /// Removes what the cluster has left.
    Clean(ClaimId),
    /// Ends a cleaning that hangs.
    EndClean(ClaimId),
    /// Reboots the host.
    Reboot,
    /// Looks for what a cluster leaves.
    Check,
}

codes! { Step::name:
    AskImage WithdrawImage Join EndJoin Fence Clean EndClean Reboot Check
}
