//! What to raise, and how a raise fails.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use host::Places;
use upgrade::control_plane::raise::Phase;
use upgrade::{UpgradeId, Version};

use crate::folder::Folder;

/// What to raise.
#[derive(Clone, Debug)]
pub struct RaiseOrder {
    /// The files of the node.
    pub folder: Folder,
    /// The folders of the ledger.
    pub places: Places,
    /// The upgrade that this is a part of. It names the ledger.
    pub id: UpgradeId,
    /// The version to raise to.
    pub to: Version,
    /// The kubeadm of that version.
    pub kubeadm: PathBuf,
    /// The folder of the images that the new system carries.
    pub images: Option<PathBuf>,
    /// The socket of the container runtime.
    pub runtime: PathBuf,
    /// The folders in which kubeadm finds the kubelet that runs, before those of the system.
    pub old_kubelet: Vec<PathBuf>,
    /// The folder of kubeadm's patches. `None` is the usual one, and an empty path is none.
    pub patches: Option<String>,
    /// Checks of kubeadm's whose errors do not count.
    pub ignore: Vec<String>,
    /// Additional phases of `kubeadm upgrade` to skip.
    pub skip: Vec<String>,
    /// How long kubeadm waits for each static pod.
    pub pod: Duration,
    /// How long the components may take to serve, before and after kubeadm.
    pub serving: Duration,
    /// kubeadm's copies of etcd from before this moment go, in seconds since 1970.
    pub prune_before: Option<u64>,
    /// The wall clock, in seconds since 1970.
    pub now: u64,
}

/// Whether a program that says so is this version. A vendor's image and its program may name the
/// build in different ways.
pub(super) fn is_same(said: &str, version: &Version) -> bool {
    let said = said.parse::<Version>();
    said.is_ok_and(|said| !said.is_older_than(version) && !version.is_older_than(&said))
}

/// Why a control plane was not raised.
#[derive(Debug)]
pub(super) struct Failed {
    pub phase: Phase,
    pub why: String,
}

/// Says in which phase a result failed.
pub(super) trait In<T> {
    fn during(self, phase: Phase) -> Result<T, Failed>;
}

impl<T, E: Display> In<T> for Result<T, E> {
    fn during(self, phase: Phase) -> Result<T, Failed> {
        self.map_err(|error| Failed {
            phase,
            why: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_a_vendor_is_the_same_version() {
        let version = "v1.36.3".parse().unwrap();
        for (said, expected) in [
            ("v1.36.3", true),
            ("v1.36.3-eks-1", true),
            ("v1.36.3+ds1", true),
            ("v1.36.4", false),
            ("v1.36.2", false),
            ("", false),
        ] {
            assert_eq!(is_same(said, &version), expected, "{said}");
        }
    }
}
