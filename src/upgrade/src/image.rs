//! What is known of a fetched image and of a deployment.

use serde::{Deserialize, Serialize};

use crate::id::Digest;
use crate::version::Version;

/// The protocol between the agent and the stage in the initramfs that this code speaks.
pub const STAGE_PROTOCOL: u32 = 1;

/// `image.json`: what an image says of itself. It lies in the tree, so the commit's signature covers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// Format of this file; 1.
    pub format: u32,
    /// The version of the kubelet and kubeadm in the image.
    pub kubernetes: Version,
    /// The machine, as `uname -m` says it.
    pub architecture: String,
    /// The protocol of the stage in the initramfs; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
}

impl ImageInfo {
    /// Whether its initramfs has a guard that this version knows.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        self.stage == Some(STAGE_PROTOCOL)
    }
}

/// What `careen-deploy verify` found in a fetched commit. Judged by the brain, against policy and request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// The commit.
    pub commit: Digest,
    /// `image.json`, or nothing when the image has none.
    pub info: Option<ImageInfo>,
    /// The kernel's version, or nothing when the image has no kernel with an initramfs.
    pub kernel: Option<String>,
    /// The commit's own time, in seconds since 1970.
    pub timestamp: u64,
    /// That of the commit that ran when this was looked at; nothing where it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<u64>,
    /// What a trial of it on this node would lack of those who judge and end it, in words for a person; nothing where it lacks nothing, or the
    /// version that looked did not ask.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub lacks: Box<[String]>,
    /// The branches that the commit says it is of (its `ostree.ref-binding`); nothing where it says none.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub branches: Box<[String]>,
    /// Room on the root file system.
    pub root: Room,
    /// Room on the file system of /boot.
    pub boot: Room,
}

impl ImageFacts {
    /// By how many seconds the image was made before the system that runs; nothing when it was not, or one of the two
    /// does not say: 0 is what a build without a time writes.
    #[must_use]
    pub fn older_by(&self) -> Option<u64> {
        let running = self.running?;
        let older = self.timestamp > 0 && self.timestamp < running;
        older.then(|| running.saturating_sub(self.timestamp))
    }
}

/// Room on a file system, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// What deploying needs, its margin included.
    pub need: u64,
    /// What is free for root.
    pub free: u64,
}

impl Room {
    /// Whether it fits.
    #[must_use]
    pub const fn fits(self) -> bool {
        self.free >= self.need
    }
}

/// One deployment on the disk. The serial tells two deployments of one commit apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Deployment {
    /// The commit.
    pub digest: Digest,
    /// The number behind the dot in the deployment's folder.
    pub serial: u32,
    /// The stateroot.
    pub stateroot: String,
    /// libostree's checksum of kernel and initramfs; names the folder in /boot/ostree.
    pub bootcsum: String,
    /// Pinned against clean-up, by whomever.
    #[serde(default)]
    pub pinned: bool,
    /// Pinned, and Careen's own mark says that it keeps this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

impl Deployment {
    /// Whether both are the same folder on disk.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        (&self.digest, self.serial, &self.stateroot)
            == (&other.digest, other.serial, &other.stateroot)
    }
}
