//! The lines that `careen-deploy` prints: one JSON object each, any number of `progress`, then one verdict.

use serde::{Deserialize, Serialize};

use crate::id::Digest;
use crate::image::{Deployment, ImageFacts};
use crate::plan::Found;
use crate::reason::Reason;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// How far it is.
    Progress(Progress),
    /// It is done; the last line.
    Done(Done),
    /// It failed; the last line.
    Failed(Reason),
}

/// How far a verb is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 100 within this verb.
    pub percent: u8,
    /// What is being done, for a person.
    pub doing: String,
}

/// What a verb has brought about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the variants say what their fields are
pub enum Done {
    /// The commit lies in the repository, its signature verified.
    Fetched { commit: Digest, bytes: u64 },
    /// What the commit holds.
    Verified(ImageFacts),
    /// The deployment lies beside the running one and is not the default.
    Deployed(Deployment),
    /// The target is the default, the old one pinned.
    Blessed,
    /// The old system is the default again.
    Reinstated,
    /// Target and leftovers are gone.
    Undone,
    /// Deployments that nothing needs are gone.
    Cleaned,
    /// What an upgrade to a commit would change; nothing of it is left behind.
    Planned(Box<Found>),
    /// Deployments, the default first.
    Status { deployments: Vec<Deployment> },
}
