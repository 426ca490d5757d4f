//! Whether a node is a control plane of kubeadm's: one rule for all programs.
//!
//! kubeadm itself looks at kube-apiserver.yaml alone (`IsControlPlaneNode` in
//! cmd/kubeadm/app/util/staticpod/utils.go). A power cut between two of its renames takes that file
//! away, and so does a person who stops the static pods. kubeadm then upgrades the node as a
//! worker.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use upgrade::control_plane::Component;

use crate::ledger::Ledger;
use crate::{Places, kubernetes};

/// The keys with which only a control plane serves. kubeadm writes them to no worker. admin.conf and
/// the certificates of clients are no sign: people copy these to other machines.
const KEYS: [&str; 2] = ["pki/apiserver.key", "pki/etcd/server.key"];

/// What shows that this node is a control plane; `None` on a worker.
///
/// In doubt the node is a control plane: to take one for a worker can cost the cluster.
#[must_use]
pub fn sign(places: &Places) -> Option<PathBuf> {
    // The shared folder also shows a control plane whose mount has failed.
    let folders = [kubernetes::folder, kubernetes::shared];
    let mut found = folders.iter().map(|folder| sign_in(&folder(&places.root)));
    found.find_map(|sign| sign).or_else(|| raise(places))
}

/// What in this folder, which is an /etc/kubernetes or a copy of one, shows a control plane.
#[must_use]
pub fn sign_in(kubernetes: &Path) -> Option<PathBuf> {
    signs(kubernetes).into_iter().find(|path| exists(path))
}

/// Whether this node is a control plane.
#[must_use]
pub fn is_here(places: &Places) -> bool {
    sign(places).is_some()
}

/// The files of a kubeadm folder that only a control plane has. An empty manifest counts too.
fn signs(kubernetes: &Path) -> Vec<PathBuf> {
    let manifest = |component: Component| format!("manifests/{component}.yaml");
    // kube-apiserver.yaml is first, because it is the one that a person knows.
    let mut all = Component::ALL;
    all.sort_by_key(|component| *component != Component::ApiServer);
    let manifests = all.into_iter().map(manifest);
    let keys = KEYS.into_iter().map(str::to_owned);
    manifests
        .chain(keys)
        .map(|name| kubernetes.join(name))
        .collect()
}

/// A file that cannot be looked at may be there.
fn exists(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// The ledger of a raise that is under way, or that cannot be read. Only a raise of a control plane
/// writes one.
fn raise(places: &Places) -> Option<PathBuf> {
    match Ledger::under_way(places) {
        Ok(found) => found.map(|(ledger, _)| ledger.folder().to_owned()),
        Err(_) => Some(places.state()),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use upgrade::control_plane::raise::{Note, Run, State};

    use super::*;

    struct Node(TempDir);

    impl Node {
        /// A worker as `kubeadm join` leaves it.
        fn worker() -> Self {
            let node = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(node.0.path().join("etc/kubernetes/manifests")).unwrap();
            node.with("etc/kubernetes/kubelet.conf")
                .with("etc/kubernetes/pki/ca.crt")
        }

        fn with(self, path: &str) -> Self {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            self
        }

        fn places(&self) -> Places {
            Places::running(self.0.path())
        }

        /// What shows it, below the root.
        fn sign(&self) -> Option<String> {
            let sign = sign(&self.places())?;
            let below = sign.strip_prefix(self.0.path()).unwrap();
            Some(below.display().to_string())
        }

        fn raise(&self, state: State) -> Ledger {
            fs::create_dir_all(self.places().state()).unwrap();
            let ledger = Ledger::of(&self.places(), &"r1".parse().unwrap());
            ledger.begin().unwrap();
            let note = Note {
                to: "v1.36.4".parse().unwrap(),
                run: Run::Node,
                etcd: false,
                at: 1,
                state,
            };
            ledger.set(&note).unwrap();
            ledger
        }
    }

    #[test]
    fn each_file_that_only_a_control_plane_has_shows_one() {
        assert_eq!(Node::worker().sign(), None);
        for folder in ["etc/kubernetes", "var/lib/careen/kubernetes"] {
            for file in [
                "manifests/etcd.yaml",
                "manifests/kube-apiserver.yaml",
                "manifests/kube-controller-manager.yaml",
                "manifests/kube-scheduler.yaml",
                "pki/apiserver.key",
                "pki/etcd/server.key",
            ] {
                let path = format!("{folder}/{file}");
                assert_eq!(Node::worker().with(&path).sign(), Some(path));
            }
        }
    }

    #[test]
    fn what_people_copy_to_a_worker_shows_no_control_plane() {
        let worker = Node::worker()
            .with("etc/kubernetes/admin.conf")
            .with("etc/kubernetes/super-admin.conf")
            .with("etc/kubernetes/manifests/kube-vip.yaml")
            .with("etc/kubernetes/pki/etcd/ca.crt")
            .with("etc/kubernetes/pki/etcd/healthcheck-client.key")
            .with("etc/kubernetes/pki/apiserver-etcd-client.key");
        assert_eq!(worker.sign(), None);
    }

    #[test]
    fn raise_under_way_shows_a_control_plane_and_an_ended_one_not() {
        let node = Node::worker();
        let ledger = node.raise(State::Raising);
        assert_eq!(node.sign().unwrap(), "sysroot/ostree/careen/control-r1");
        fs::write(ledger.folder().join("raise.json"), "torn").unwrap();
        assert_eq!(node.sign().unwrap(), "sysroot/ostree/careen");
        node.raise(State::Over);
        assert_eq!(node.sign(), None);
    }
}
