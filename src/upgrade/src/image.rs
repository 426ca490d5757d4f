//! Facts about a fetched image and about a deployment.

use serde::{Deserialize, Serialize};

use crate::id::Digest;
use crate::version::Version;

/// The version of the protocol between the agent and the stage in the initramfs.
pub const STAGE_PROTOCOL: u32 = 1;

/// What an image has for a control plane, as `control` in its `image.json`. A higher number says
/// that it has more.
pub const CONTROL: u32 = 1;

/// `image.json`: what an image states about itself. It is in the tree, so the commit's signature
/// covers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// Format of this file; 1.
    pub format: u32,
    /// The version of the kubelet and kubeadm in the image.
    pub kubernetes: Version,
    /// The machine, as `uname -m` prints it.
    pub architecture: String,
    /// The protocol of the stage in the initramfs; absent if there is no stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
    /// What the image has for a control plane: with 1 the agent, careen-control and the unit that
    /// repairs manifests. 0 if absent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub control: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ImageInfo {
    /// Whether the image's initramfs has a guard that this version supports.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        self.stage == Some(STAGE_PROTOCOL)
    }

    /// Whether the image has what a control plane needs to be tried in it.
    #[must_use]
    pub const fn carries_control(&self) -> bool {
        self.control >= CONTROL
    }
}

/// What `careen-deploy verify` found in a fetched commit. The decision logic judges it against
/// policy and request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// The commit.
    pub commit: Digest,
    /// `image.json`; `None` if the image has none.
    pub info: Option<ImageInfo>,
    /// The kernel's version; `None` if the image has no kernel with an initramfs.
    pub kernel: Option<String>,
    /// The commit's own time, in seconds since 1970.
    pub timestamp: u64,
    /// The time of the commit that ran during the inspection; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<u64>,
    /// The parts missing on this node to judge and end a trial of the image, in words for display.
    /// Empty if nothing is missing, or if the inspecting version did not check.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub lacks: Box<[String]>,
    /// The branches that the commit names (its `ostree.ref-binding`); empty if it names none.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub branches: Box<[String]>,
    /// The branches that the commit of the running system names; empty if it names none, or if the
    /// inspecting version did not look.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub running_branches: Box<[String]>,
    /// Room on the root file system.
    pub root: Room,
    /// Room on the file system of /boot.
    pub boot: Room,
}

impl ImageFacts {
    /// By how many seconds the image was made before the running system. `None` if it was not, or
    /// if one of the times is unknown: a build without a time writes 0.
    #[must_use]
    pub fn older_by(&self) -> Option<u64> {
        let running = self.running?;
        let older = self.timestamp > 0 && self.timestamp < running;
        older.then(|| running.saturating_sub(self.timestamp))
    }

    /// Whether the image and the running system have no branch in common. `false` if one of them
    /// names none.
    #[must_use]
    pub fn changes_branch(&self) -> bool {
        let are_known = !self.branches.is_empty() && !self.running_branches.is_empty();
        let common = |branch: &String| self.running_branches.contains(branch);
        are_known && !self.branches.iter().any(common)
    }
}

/// Room on a file system, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// What a deployment needs, including a margin.
    pub need: u64,
    /// What is free for root.
    pub free: u64,
}

impl Room {
    /// Whether it is enough.
    #[must_use]
    pub const fn fits(self) -> bool {
        self.free >= self.need
    }
}

/// A deployment on the disk. The serial distinguishes two deployments of one commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Deployment {
    /// The commit.
    pub digest: Digest,
    /// The number after the dot in the deployment's folder name.
    pub serial: u32,
    /// The stateroot.
    pub stateroot: String,
    /// libostree's checksum of kernel and initramfs; it names the folder in /boot/ostree.
    pub bootcsum: String,
    /// Pinned against clean-up, by any program.
    #[serde(default)]
    pub pinned: bool,
    /// Pinned, and Careen's own mark says that it keeps this deployment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

impl Deployment {
    /// Whether both are the same folder on the disk.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        (&self.digest, self.serial, &self.stateroot)
            == (&other.digest, other.serial, &other.stateroot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: &str) -> ImageInfo {
        let text = format!(
            r#"{{"format":1,"kubernetes":"v1.36.3","architecture":"x86_64","stage":1{more}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_image_for_control_planes_says_so_or_a_later_number() {
        for (more, carries) in [
            ("", false),
            (r#","control":0"#, false),
            (r#","control":1"#, true),
            (r#","control":2"#, true),
        ] {
            assert_eq!(read(more).carries_control(), carries, "{more}");
        }
    }

    #[test]
    fn an_image_without_control_prints_as_before_the_key() {
        let printed = |more| serde_json::to_string(&read(more)).unwrap();
        assert!(!printed("").contains("control"));
        assert!(printed(r#","control":1"#).contains(r#""control":1"#));
    }
}
