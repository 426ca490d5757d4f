//! A node whose kubelet has written its state.
// Each test file uses only a part.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use host::{Places, snapshot};
use tempfile::TempDir;

use crate::disk::upgrade_id;

/// The folder of the kubelet's state.
pub const KUBELET: &str = "var/lib/kubelet";

/// A node in a folder.
pub struct Node {
    folder: TempDir,
    pub places: Places,
}

/// A node with the files of a kubelet.
pub fn node() -> Node {
    let folder = tempfile::tempdir().unwrap();
    let places = Places::running(folder.path());
    let node = Node { folder, places };
    for (path, text) in [
        ("config.yaml", "old config"),
        ("kubeadm-flags.env", "old flags"),
        ("cpu_manager_state", "old cpus"),
        ("allocated_pods_state", "old allocations"),
        ("pki/kubelet-client-current.pem", "old key"),
        ("pods/1/etc-hosts", "a pod's"),
    ] {
        node.write(&format!("{KUBELET}/{path}"), text);
    }
    node
}

impl Node {
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(&format!("{KUBELET}/{path}"))).unwrap()
    }

    pub fn save(&self) {
        snapshot::save(&self.places, &upgrade_id("one")).unwrap();
    }

    pub fn restore(&self) -> usize {
        snapshot::restore(&self.places, &upgrade_id("one")).unwrap()
    }
}
