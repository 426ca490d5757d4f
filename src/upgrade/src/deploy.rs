//! The lines that `careen-deploy` prints: one JSON object each, any number of `progress`, then one
//! verdict.

use serde::{Deserialize, Serialize};

use crate::id::Digest;
use crate::image::{Deployment, ImageFacts};
use crate::plan::Found;
use crate::reason::Reason;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// Progress.
    Progress(Progress),
    /// The verb has succeeded; the last line.
    Done(Done),
    /// The verb has failed; the last line.
    Failed(Reason),
}

/// The progress of a verb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 100 within this verb.
    pub percent: u8,
    /// What is in progress, for display.
    pub doing: String,
}

/// The result of a verb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the variants say what their fields are
pub enum Done {
    /// The commit is in the repository, and its signature is verified.
    Fetched { commit: Digest, bytes: u64 },
    /// What the commit contains.
    Verified(ImageFacts),
    /// The deployment is beside the running one and is not the default.
    Deployed(Deployment),
    /// The target is the default, and the old deployment is pinned.
    Blessed,
    /// The old system is the default again.
    Reinstated,
    /// The target and its leftovers are removed.
    Undone,
    /// Deployments that are no longer needed are removed.
    Cleaned,
    /// What an upgrade to a commit would change. The verb leaves nothing on the disk.
    Planned(Box<Found>),
    /// Deployments, the default first.
    Status { deployments: Vec<Deployment> },
}
