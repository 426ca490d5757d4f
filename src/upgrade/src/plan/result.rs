//! The answer to a question, as the Node has it.

use serde::{Deserialize, Serialize};

use crate::id::Digest;

/// The longest answer, in bytes.
pub const BYTES: usize = 16 * 1024;

/// The JSON of [`crate::names::PLAN_RESULT`]. The agent leaves out what it does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Plan {
    /// The question as the Node had it.
    pub asked: String,
    /// When it was answered, in seconds since 1970 by the node's clock.
    pub at: u64,
    /// The code of the reason why an upgrade would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// That reason's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The earlier failure of this image on this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<Failure>,
    /// The commit that the image resolves to.
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
    /// How many more packages did not fit.
    pub packages_left_out: u32,
    /// What is still to fetch, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_bytes: Option<u64>,
    /// Files of /etc that both the node and the image changed; the node's version stays.
    pub etc_conflicts: Vec<String>,
    /// How many more files did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub etc_conflicts_left_out: u32,
    /// Users, groups and members of groups that the image adds to the node's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<String>,
    /// How many more of them did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub accounts_left_out: u32,
    /// Room on the file systems that the upgrade writes to.
    pub room: Vec<PlaceRoom>,
    /// The kept old deployment is removed first, to make room.
    pub kept_goes: bool,
    /// The image has no guard in its initramfs, and the policy lets it through.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unguarded: bool,
    /// Pods that would move, by namespace and name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moving: Vec<String>,
    /// How many more pods did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub moving_left_out: u32,
    /// Pods that a rehearsal of the drain could not move.
    pub blocked: Vec<Blocked>,
    /// How many more pods did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub blocked_left_out: u32,
    /// Pods that the cordon does not keep off the node: their controllers may place them there
    /// again, or pin them to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returning: Vec<String>,
    /// How many more pods did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub returning_left_out: u32,
    /// Settings of the kubelet that kubeadm would undo, each with both values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// How many more settings did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub settings_left_out: u32,
    /// What a survey of the control plane finds, line by line; empty on a worker.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub control_plane: Vec<String>,
    /// How many more lines did not fit.
    #[serde(skip_serializing_if = "is_none")]
    pub control_plane_left_out: u32,
    /// The expected duration by this node's own history, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<u64>,
    /// Seconds left of the open maintenance window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_seconds: Option<u64>,
    /// When the next usable maintenance window opens, in the window's time zone, if it is closed
    /// now or too short for a drain. An upgrade would wait until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens: Option<String>,
    /// Why no maintenance window is ever long enough for a drain: an upgrade would wait forever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_short: Option<String>,
    /// Why the agent does not know whether the hours are open: the clock was not set in this boot.
    /// An upgrade would wait until it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_unset: Option<String>,
    /// Why the node is paused; an upgrade would wait until the pause ends.
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
    /// That reason's text, possibly cut; absent if the node's history no longer has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A change of version; one side is missing for something that is added or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// The running version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version that would run.
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
    /// The place, such as `/boot`.
    pub place: String,
    /// What is needed.
    pub need: u64,
    /// What is free.
    pub free: u64,
}

/// A pod that cannot move.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Blocked {
    /// The pod, as `namespace/name`.
    pub pod: String,
    /// What blocks it, such as a PodDisruptionBudget's name.
    pub by: String,
}
