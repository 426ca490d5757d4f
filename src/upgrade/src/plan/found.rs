//! What the agent and careen-deploy find out for an answer.

use serde::{Deserialize, Serialize};

use super::result::{Blocked, Package};
use crate::image::ImageFacts;
use crate::reason::Reason;

/// What `careen-deploy plan` finds out about an image, without deploying it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What the commit contains, as `careen-deploy verify` reports it.
    pub facts: ImageFacts,
    /// The running kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Packages that differ; or folders, if one of the systems has no readable package list.
    pub packages: Vec<Package>,
    /// What is still to fetch, in bytes, if the commit states the sizes of its objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_bytes: Option<u64>,
    /// Files of /etc that both the node and the image changed.
    pub etc_conflicts: Vec<String>,
    /// Users, groups and members of groups that the image adds to the node's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<String>,
    /// Why /etc cannot be merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etc_refusal: Option<Reason>,
    /// /boot is short of room, and the kept deployment would be removed first.
    pub kept_goes: bool,
}

/// What a rehearsal finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// Pods that would move, by namespace and name.
    pub moving: Vec<String>,
    /// Pods that could not move.
    pub blocked: Vec<Blocked>,
    /// Pods that come back to the cordoned node, or stay there.
    pub returning: Vec<String>,
    /// Settings of the kubelet that kubeadm would undo, each with both values.
    pub settings: Vec<String>,
    /// Why the rehearsal would end an upgrade.
    pub refusal: Option<Reason>,
    /// What a survey of the control plane finds, line by line; empty on a worker.
    pub control_plane: Vec<String>,
}
