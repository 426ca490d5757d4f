//! A dry try: what an upgrade would do to a node, asked by [`crate::names::PLAN`] and answered by [`crate::names::PLAN_RESULT`].
//!
//! The answer repeats the question letter by letter, so that nobody takes an older answer for it. When the question is taken
//! off, so is the answer.

mod answer;
mod response;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use answer::{Case, answer, answers, refusal};
pub use response::{Look, Response, respond};

use crate::id::{Digest, Malformed, UpgradeId, malformed};
use crate::image::ImageFacts;
use crate::names;
use crate::reason::Reason;
use crate::target::{ACCEPTED_WANTED, Wanted};

/// The longest answer, in bytes.
pub const BYTES: usize = 16 * 1024;

/// The value of [`crate::names::PLAN`]: an image, and an id that sets the question apart from the same one asked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What to try.
    pub image: Wanted,
    /// The question's own id.
    pub id: Option<UpgradeId>,
}

impl FromStr for Question {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (image, id) = match text.split_once(' ') {
            None => (text, None),
            Some((image, id)) => (image, Some(id.parse()?)),
        };
        let image = image
            .parse()
            .map_err(|_: Malformed| malformed(names::PLAN, image, ACCEPTED_WANTED))?;
        Ok(Self { image, id })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.image)?;
        self.id.as_ref().map_or(Ok(()), |id| write!(f, " {id}"))
    }
}

/// The JSON of [`crate::names::PLAN_RESULT`]. What the agent does not know it leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Plan {
    /// The question as it stood on the Node.
    pub asked: String,
    /// When it was answered, in seconds since 1970 by the node's clock.
    pub at: u64,
    /// The code of the reason why an upgrade would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// That reason's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How this image failed here before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<Failure>,
    /// The commit that the image leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Digest>,
    /// The kubelet's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<Change>,
    /// The kernel's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Change>,
    /// Packages that change, the largest change first.
    pub packages: Vec<Package>,
    /// How many more there are that did not fit.
    pub packages_left_out: u32,
    /// What is yet to be fetched, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_bytes: Option<u64>,
    /// Files of /etc that were changed on the node and are changed by the image too: the node's stay.
    pub etc_conflicts: Vec<String>,
    /// How many more there are that did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub etc_conflicts_left_out: u32,
    /// Room on the file systems that are written.
    pub room: Vec<PlaceRoom>,
    /// The kept old deployment goes first, to make room.
    pub kept_goes: bool,
    /// The image has no guard in its initramfs, and the policy lets it through.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unguarded: bool,
    /// Pods that will move, by namespace and name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moving: Vec<String>,
    /// How many more there are that did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub moving_left_out: u32,
    /// Pods that a rehearsal of the drain could not move.
    pub blocked: Vec<Blocked>,
    /// How long it takes by this node's own past, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<u64>,
    /// Seconds left of the maintenance window that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_seconds: Option<u64>,
    /// When the maintenance window opens that is closed, or too short by now for a drain, by its own clock: an upgrade would wait until
    /// then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens: Option<String>,
    /// Why no maintenance window is ever long enough for a drain: an upgrade would wait for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_short: Option<String>,
    /// Why the node is paused: an upgrade would wait until it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
}

const fn is_none(count: &u32) -> bool {
    *count == 0
}

/// How an image failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// The code of the reason.
    pub code: String,
    /// That reason's text, perhaps cut; absent where the node remembers later upgrades alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What `careen-deploy plan` finds of an image, without deploying it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What the commit holds, as `careen-deploy verify` tells it.
    pub facts: ImageFacts,
    /// The kernel that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Packages that differ; folders, where one of both systems has no list of packages that can be read.
    pub packages: Vec<Package>,
    /// What is yet to be fetched, in bytes, where the commit says how large its objects are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_bytes: Option<u64>,
    /// Files of /etc that were changed on the node and are changed by the image too.
    pub etc_conflicts: Vec<String>,
    /// Why /etc could not be merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etc_refusal: Option<Reason>,
    /// /boot is short, and the kept deployment would go first.
    pub kept_goes: bool,
}

/// What a rehearsal of the drain finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pods {
    /// Pods that would move, by namespace and name.
    pub moving: Vec<String>,
    /// Those that could not.
    pub blocked: Vec<Blocked>,
}

/// From one version to another; one of them is missing where something comes or goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// What runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// A package that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its versions.
    #[serde(flatten)]
    pub change: Change,
    /// By how much it grows, in bytes.
    pub bytes: i64,
}

/// Room at one place, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceRoom {
    /// The place, as `/boot`.
    pub place: String,
    /// What is needed.
    pub need: u64,
    /// What is free.
    pub free: u64,
}

/// A pod that does not move.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Blocked {
    /// Namespace and name, with a slash between.
    pub pod: String,
    /// What holds it, as a PodDisruptionBudget's name.
    pub by: String,
}
