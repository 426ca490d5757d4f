//! Why a host does not go on, as a code, a class and a sentence. Decisions depend on the variant,
//! never on the text.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::claim::ClaimId;

/// Who can make the host go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// Nobody: the host waits, without an end.
    Wait,
    /// The provider, with another host.
    NextHost,
    /// Cluster API, with another Machine.
    Replace,
    /// A person.
    Person,
}

/// A reason.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "code")]
pub enum Reason {
    /// The CareenHost has no claim, but this host serves one.
    #[error(
        "the CareenHost has no claim: this host serves claim {id} and continues. Restore spec.claim, or release the host through its Machine."
    )]
    ClaimGone {
        /// The claim that the host serves.
        id: ClaimId,
    },
    /// The CareenHost has another claim than the one that this host serves.
    #[error(
        "the CareenHost has claim {found}: this host serves claim {id} and continues. Restore spec.claim, or release the host through its Machine."
    )]
    ClaimForeign {
        /// The claim that the host serves.
        id: ClaimId,
        /// The claim in the CareenHost.
        found: ClaimId,
    },
    /// The claim could not be read in this pass.
    #[error(
        "the claim cannot be read: {detail}. Check the CareenHost and the network; the host continues with what it knows."
    )]
    ClaimUnread {
        /// Why.
        detail: String,
    },
    /// The provider has not given the bootstrap data yet.
    #[error(
        "no bootstrap data: careen-provider has not written the data of this claim and their hash yet. Wait; if this persists, check the bootstrap provider."
    )]
    AwaitsData,
    /// The agent has an upgrade under way.
    #[error(
        "careen-agent is busy: {detail}. The host waits until that ends; if the upgrade has halted or the record is damaged, follow the runbook."
    )]
    AgentBusy {
        /// What it does.
        detail: String,
    },
    /// A check finds what a cluster has left.
    #[error("this host is not clean: {}. Remove it and reboot.", .found.join(", "))]
    NotClean {
        /// What was found.
        found: Vec<String>,
    },
    /// The claim's image did not pass its trial here.
    #[error("the image of the claim failed on this host: {detail}")]
    ImageFailed {
        /// What careen-agent says.
        detail: String,
    },
    /// The bootstrap data have a part that careen-host refuses. Nothing was written.
    #[error("the bootstrap data are refused: {detail}")]
    BootstrapRefused {
        /// The part, and what is accepted.
        detail: String,
    },
    /// The host rebooted, or the run was lost, while the bootstrap data ran.
    #[error(
        "the bootstrap data were interrupted: they began and did not report success. They never run twice, so replace the Machine."
    )]
    BootstrapInterrupted,
    /// The bootstrap data ended without success.
    #[error("the join failed: {detail}. Correct the cause and replace the Machine.")]
    JoinFailed {
        /// The end of their output.
        detail: String,
    },
    /// The bootstrap data did not end in time.
    #[error("the join took longer than {seconds} s. Correct the cause and replace the Machine.")]
    JoinTimedOut {
        /// The limit.
        seconds: u64,
    },
    /// A claim that has ended here is wanted again.
    #[error(
        "claim {id} has ended on this host: its bootstrap data never run twice. Replace the Machine."
    )]
    ClaimSpent {
        /// The claim.
        id: ClaimId,
    },
    /// Cleaning and a reboot did not make the host clean.
    #[error(
        "cleaning failed: {} is still there after a reboot. Remove it, then run `careen-host clean`.",
        .found.join(", ")
    )]
    CleaningFailed {
        /// What was found.
        found: Vec<String>,
    },
    /// The claim asked to keep the host as it is.
    #[error(
        "the host is kept: its claim has `release: Keep`. Look at it, then run `careen-host clean`."
    )]
    Kept,
    /// The record cannot be used.
    #[error("the record of this host cannot be used: {detail}")]
    RecordUnread {
        /// Why, and what to do.
        detail: String,
    },
}

codes! { Reason::code:
    ClaimGone ClaimForeign ClaimUnread AwaitsData AgentBusy NotClean ImageFailed
    BootstrapRefused BootstrapInterrupted JoinFailed JoinTimedOut ClaimSpent CleaningFailed Kept
    RecordUnread
}

impl Reason {
    /// Who can make the host go on.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::ClaimUnread { .. } | Self::AwaitsData | Self::AgentBusy { .. } => Class::Wait,
            Self::ImageFailed { .. } => Class::NextHost,
            Self::BootstrapInterrupted
            | Self::JoinFailed { .. }
            | Self::JoinTimedOut { .. }
            | Self::ClaimSpent { .. } => Class::Replace,
            Self::ClaimGone { .. }
            | Self::ClaimForeign { .. }
            | Self::NotClean { .. }
            | Self::BootstrapRefused { .. }
            | Self::CleaningFailed { .. }
            | Self::Kept
            | Self::RecordUnread { .. } => Class::Person,
        }
    }
}
