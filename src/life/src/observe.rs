//! What a host observes before a decision.

use upgrade::{BootId, Digest, Moment, SinceBoot};

use crate::claim::{Claim, ClaimId};

/// Everything that one decision depends on, apart from the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// This boot.
    pub boot: BootId,
    /// The time in this boot.
    pub now: SinceBoot,
    /// What the management cluster says of the claim.
    pub claimed: Claimed,
    /// How far careen-agent is with the image of the claim.
    pub image: Image,
    /// Whether the request to careen-agent is there.
    pub asked: bool,
    /// What careen-agent does.
    pub agent: Agent,
    /// The bootstrap data.
    pub data: Data,
    /// The run of the bootstrap data.
    pub join: Join,
    /// What could bring the old kubelet back.
    pub fence: Fence,
    /// The run of the cleaning.
    pub clean: Clean,
    /// The check list, in this boot.
    pub checks: Checks,
    /// A person has asked for a cleaning since the last decision.
    pub asked_to_clean: bool,
}

impl Observation {
    /// This moment.
    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment {
            boot: self.boot.clone(),
            at: self.now,
        }
    }
}

/// What the CareenHost says. Only an answer of the API server counts as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It could not be read, or its claim could not be understood. That is no order.
    Unknown(String),
    /// It was read, and has no claim. That is no order.
    No,
    /// It was read, and has this claim.
    By(Box<Claim>),
}

/// How far careen-agent is with the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// It was not asked, or has not looked at the request.
    Unasked,
    /// It works on it.
    UnderWay(String),
    /// The image runs and is the default.
    Right,
    /// It has failed for good.
    Failed(String),
    /// Its record cannot be read.
    Unknown(String),
}

/// Whether careen-agent has an upgrade under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// It has none.
    AtRest,
    /// It has one, or that cannot be said.
    Busy(String),
}

/// The bootstrap data in the host's own Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// There are none, or they could not be read.
    Absent,
    /// Data of this claim with this hash, which careen-host can run.
    For {
        /// The claim.
        claim: ClaimId,
        /// Their SHA-256.
        hash: Digest,
    },
    /// Data of this claim with this hash, which careen-host refuses.
    Refused {
        /// The claim.
        claim: ClaimId,
        /// Their SHA-256.
        hash: Digest,
        /// What is refused, and what is accepted.
        detail: String,
    },
}

/// A run in a unit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// It runs.
    Yes,
    /// It does not.
    No,
}

/// Whether Cluster API's sentinel file is there, and the kubelet's credential with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sentinel {
    /// Both are there.
    There,
    /// One of them is not.
    Missing,
}

/// The run of the bootstrap data of the claim that the record names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// Whether it runs.
    pub running: Running,
    /// Whether it has succeeded.
    pub sentinel: Sentinel,
    /// How it ended in this boot, if it ended: the end of its output.
    pub ended: Option<String>,
}

/// What could bring the old kubelet back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fence {
    /// Nothing.
    Whole,
    /// These things.
    Open(Vec<String>),
}

/// The run of a cleaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clean {
    /// None has run in this boot for this cleaning.
    Idle,
    /// It runs, for these seconds.
    Running(u64),
    /// It has ended. What it could not do, the check list finds.
    Ended,
}

/// The check list. Green counts for one boot only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checks {
    /// It has not run, or its result is old.
    NotRun,
    /// It finds nothing.
    Green,
    /// It finds these things.
    Red(Vec<String>),
}
