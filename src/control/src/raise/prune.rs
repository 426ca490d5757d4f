//! kubeadm copies all of etcd in each run that may change it, and never removes a copy.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::folder::Folder;

/// Where kubeadm puts its copies.
const COPIES: &str = "/etc/kubernetes/tmp";

/// How the folder of a copy of etcd begins. Manifests are small, and stay.
const ETCD: &str = "kubeadm-backup-etcd-";

/// Removes copies of etcd from before this moment, in seconds since 1970. What cannot be removed
/// stays: the survey says it when there is no room.
pub(super) fn prune(folder: &Folder, before: u64) {
    remove(folder, |changed| changed < before);
}

/// Removes the copies that earlier runs of this raise have made. A raise that fails several times
/// would fill the disk that etcd is on.
pub(super) fn forget_earlier_runs(folder: &Folder, begun: u64) {
    remove(folder, |changed| changed >= begun);
}

fn remove(folder: &Folder, is_meant: impl Fn(u64) -> bool) {
    let entries = fs::read_dir(folder.path(COPIES)).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    for path in paths.filter(|path| changed(path).is_some_and(&is_meant)) {
        let _ = fs::remove_dir_all(path);
    }
}

/// When a copy of etcd was made, in seconds since 1970. `None` for all else.
fn changed(path: &Path) -> Option<u64> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let facts = fs::symlink_metadata(path).ok()?;
    let changed = u64::try_from(facts.mtime()).unwrap_or(u64::MAX);
    (name.starts_with(ETCD.as_bytes()) && facts.is_dir()).then_some(changed)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_old_copies_of_etcd_go() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        let at = |name: &str| folder.path(&format!("{COPIES}/{name}"));
        let all = [
            "kubeadm-backup-etcd-1",
            "kubeadm-backup-manifests-1",
            "mine",
        ];
        for name in all {
            fs::create_dir_all(at(name).join("member")).unwrap();
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap().as_secs();
        prune(&folder, now - 60);
        assert!(all.iter().all(|name| at(name).exists()), "they are new");
        prune(&folder, now + 60);
        let left: Vec<_> = all.iter().filter(|name| at(name).exists()).collect();
        assert_eq!(left, [&"kubeadm-backup-manifests-1", &"mine"]);
    }
}
