//! The details of an answer, as the Node shows them.

use serde::{Deserialize, Serialize};

use crate::id::{BootId, Digest, UpgradeId};
use crate::reason::Reason;
use crate::record::{Control, Raise, Reached, Snapshot};
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
    /// The step in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What is in progress, for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// The progress of the whole upgrade, 0 to 100.
    pub percent: u8,
    /// The reason's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The reason's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// While reverting, if something blocks the way back: why the upgrade reverts. Otherwise
    /// `reason` says that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverts_for: Option<Cause>,
    /// The system that ran before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Digest>,
    /// The requested system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Digest>,
    /// Its Kubernetes version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_version: Option<Version>,
    /// The boot that reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootId>,
    /// Trial boots so far.
    pub tries: u32,
    /// The image has no guard in its initramfs, and the policy let it through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unguarded: bool,
    /// Something other than Careen made the new system the default during its trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_moved: bool,
    /// Why nothing new begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// The keys on the Node that resemble Careen's but are unknown, each in a few words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_keys: Vec<String>,
    /// How the new system differs from the old one, in sentences. The upgrade passed all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// What the upgrade has done to the control plane of this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    /// When phases were reached, by the wall clock.
    pub reached: Vec<Reached>,
    /// Since when the upgrade waits for the maintenance window or the end of a pause, by the wall
    /// clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<u64>,
}

/// What an upgrade has done to the control plane of its node, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlane {
    /// The upgrade holds the lock, so no other member has its turn.
    pub locked: bool,
    /// The version to which it has raised the static pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised: Option<Version>,
    /// The path of its snapshot of etcd on this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
}

impl From<&Control> for ControlPlane {
    fn from(control: &Control) -> Self {
        Self {
            locked: control.holds_the_lock(),
            raised: match &control.raise {
                Raise::Raised { version } => Some(version.clone()),
                Raise::Due | Raise::Begun | Raise::GivenUp => None,
            },
            snapshot: match &control.snapshot {
                Snapshot::Kept { file } => Some(file.clone()),
                Snapshot::Due | Snapshot::NotHere => None,
            },
        }
    }
}

/// A reason: its code and its sentence.
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
