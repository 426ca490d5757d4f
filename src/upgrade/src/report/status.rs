//! The details of an answer, as they stand on the Node.

use serde::{Deserialize, Serialize};

use crate::id::{BootId, Digest, UpgradeId};
use crate::reason::Reason;
use crate::record::Reached;
use crate::version::Version;

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
    /// On the way back: what the upgrade goes back for. The reason is then what is in the way of that, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverts_for: Option<Cause>,
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
    /// The image has no guard in its initramfs, and the policy has let it through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unguarded: bool,
    /// Somebody else has made the new system the default during its trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_moved: bool,
    /// Why nothing new is begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// The keys on the Node that are nearly ours and that we do not know there, each in a few words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_keys: Vec<String>,
    /// When phases were reached, in wall time.
    pub reached: Vec<Reached>,
    /// Since when it waits for the operator's hours or the end of a pause, in wall time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<u64>,
}

/// A reason, by its code and in its words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The code.
    pub code: String,
    /// The sentence.
    pub reason: String,
}

impl From<&Reason> for Cause {
    fn from(reason: &Reason) -> Self {
        Self {
            code: reason.code(),
            reason: reason.told(),
        }
    }
}
