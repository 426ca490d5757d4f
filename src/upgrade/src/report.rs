//! What the Node is told: the same facts for annotations, condition, log and command line.

use serde::{Deserialize, Serialize};

use crate::id::{BootId, Digest, UpgradeId};
use crate::reason::Reason;
use crate::record::Reached;
use crate::version::Version;

/// The value of [`crate::names::ANSWER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Under way.
    InProgress,
    /// The new system is proven and the default.
    Upgraded,
    /// The old system serves, or a person must look.
    Failed,
}

impl Answer {
    /// As it stands in the annotation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "InProgress",
            Self::Upgraded => "Upgraded",
            Self::Failed => "Failed",
        }
    }
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The short answer.
    pub answer: Answer,
    /// Why it failed, or what is in the way at the moment.
    pub reason: Option<Reason>,
    /// The details.
    pub status: Status,
}

/// The JSON of [`crate::names::STATUS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The upgrade's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<UpgradeId>,
    /// The phase's name.
    pub phase: String,
    /// The step under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What is being done, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// How far the whole upgrade is, 0 to 100.
    pub percent: u8,
    /// The reason's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The reason's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The system that ran before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Digest>,
    /// The system that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Digest>,
    /// Its Kubernetes version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_version: Option<Version>,
    /// The boot that speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootId>,
    /// Trial boots so far.
    pub tries: u32,
    /// When phases were reached, in wall time.
    pub reached: Vec<Reached>,
}
