//! The JSON of [`crate::names::HISTORY`]: a list of [`Past`], the latest first. Whoever writes it leaves out the oldest until
//! it fits; whoever reads it passes over what it does not know.

use serde::{Deserialize, Serialize};

use crate::id::UpgradeId;
use crate::report::Answer;
use crate::version::Version;

/// The longest history, in bytes.
pub const BYTES: usize = 4 * 1024;

/// The most upgrades in it.
pub const LENGTH: usize = 10;

/// One upgrade that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Past {
    /// Its id; a request that was refused may have had none that can be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<UpgradeId>,
    /// How it ended: `Upgraded` or `Failed`.
    pub answer: Answer,
    /// The image as it was asked for.
    pub image: String,
    /// The Kubernetes version that ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Version>,
    /// The Kubernetes version of the image, once that was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Version>,
    /// When it began, in seconds since 1970 by the node's clock.
    pub began: u64,
    /// When it ended, likewise.
    pub ended: u64,
    /// Trial boots.
    #[serde(default)]
    pub tries: u32,
    /// The code of the reason, when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The reason's text, perhaps cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
