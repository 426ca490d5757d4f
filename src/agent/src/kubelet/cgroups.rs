//! Whether the image's kubelet starts on the control groups of this node. From v1.35 on the kubelet
//! does not start on cgroup v1, unless its configuration has `failCgroupV1: false` (kubernetes
//! KEP-4569; kubernetes.io/docs/concepts/architecture/cgroups, "Deprecation of cgroup v1").
//!
//! The trial boots with the kernel arguments of the running system, so the running system shows
//! which version it gets. Where a new systemd would choose another one, `failCgroupV1: false` lets
//! the upgrade through, and has no effect on cgroup v2.

use std::path::{Path, PathBuf};

use serde_json::Value;
use upgrade::{Reason, Version};

use super::files::{CONFIG, read};
use crate::health::flags;

/// The first minor version of Kubernetes v1 whose kubelet refuses.
const REFUSES: u32 = 35;

/// The setting.
const SETTING: &str = "failCgroupV1";

/// Where the control groups are.
const GROUPS: &str = "sys/fs/cgroup";

/// Files whose flags may name a file or a folder of settings.
const FLAGGED: [&str; 6] = [
    "/usr/lib/systemd/system/kubelet.service",
    "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
    "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
    "/var/lib/kubelet/kubeadm-flags.env",
    "/etc/default/kubelet",
    "/etc/sysconfig/kubelet",
];

/// Checks that this kubelet starts on the system at this root. `then` is the configuration that
/// kubeadm will write, if it is known; else the present one counts.
///
/// # Errors
/// [`Reason::OldCgroups`].
pub fn check(root: &Path, kubelet: &Version, then: Option<&Value>) -> Result<(), Reason> {
    let refuses = (kubelet.major(), kubelet.minor()) >= (1, REFUSES);
    if refuses && is_v1(root) && !is_allowed(root, then) {
        let kubelet = kubelet.clone();
        return Err(Reason::OldCgroups { kubelet });
    }
    Ok(())
}

/// Whether controllers are mounted as cgroup v1 (systemd's legacy and hybrid hierarchies). The root
/// of cgroup v2 has the file cgroup.controllers (kernel, admin-guide/cgroup-v2).
fn is_v1(root: &Path) -> bool {
    let groups = root.join(GROUPS);
    groups.join("memory").is_dir() && !groups.join("cgroup.controllers").exists()
}

/// The drop-ins count before the file that kubeadm writes.
fn is_allowed(root: &Path, then: Option<&Value>) -> bool {
    let said = dropped_in(root).or_else(|| then.map_or_else(|| present(root), said));
    said == Some(false)
}

fn present(root: &Path) -> Option<bool> {
    said(&read(&root.join(CONFIG)).ok()??)
}

/// What the last drop-in says.
fn dropped_in(root: &Path) -> Option<bool> {
    let named = flags::named(root, &FLAGGED.map(PathBuf::from));
    let below = named.iter().filter_map(|path| path.strip_prefix("/").ok());
    let files = below.filter(|path| *path != Path::new(CONFIG));
    let texts = files.filter_map(|path| read(&root.join(path)).ok()?);
    texts.filter_map(|text| said(&text)).next_back()
}

fn said(configuration: &Value) -> Option<bool> {
    configuration.get(SETTING)?.as_bool()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn node_with_v1() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sys/fs/cgroup/memory")).unwrap();
        write(root.path(), CONFIG, "kind: KubeletConfiguration\n");
        root
    }

    fn refused(root: &tempfile::TempDir, kubelet: &str, then: Option<&Value>) -> bool {
        check(root.path(), &kubelet.parse().unwrap(), then).is_err()
    }

    #[test]
    fn kubelet_from_35_on_is_refused_on_cgroup_v1_alone() {
        let root = node_with_v1();
        assert!(refused(&root, "v1.35.0", None));
        assert!(refused(&root, "v1.36.3", Some(&json!({}))));
        assert!(!refused(&root, "v1.34.9", None));
        write(root.path(), "sys/fs/cgroup/cgroup.controllers", "cpu");
        assert!(!refused(&root, "v1.36.3", None), "cgroup v2");
        let bare = tempfile::tempdir().unwrap();
        assert!(!refused(&bare, "v1.36.3", None), "not known");
    }

    #[test]
    fn setting_that_allows_cgroup_v1_lets_the_kubelet_through() {
        let root = node_with_v1();
        let allows = json!({ "failCgroupV1": false });
        assert!(!refused(&root, "v1.36.3", Some(&allows)));
        write(root.path(), CONFIG, "failCgroupV1: false\n");
        assert!(!refused(&root, "v1.36.3", None));
        let then = json!({ "failCgroupV1": true });
        assert!(refused(&root, "v1.36.3", Some(&then)), "kubeadm sets it");
    }

    #[test]
    fn drop_in_that_allows_cgroup_v1_outweighs_kubeadms_file() {
        let root = node_with_v1();
        let flags = "KUBELET_EXTRA_ARGS=--config-dir=/etc/kubelet.d\n";
        write(root.path(), "etc/default/kubelet", flags);
        write(
            root.path(),
            "etc/kubelet.d/10.conf",
            "failCgroupV1: false\n",
        );
        assert!(!refused(&root, "v1.36.3", Some(&json!({}))));
    }
}
