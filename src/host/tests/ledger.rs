//! The ledger of manifests on a real disk, and what is written back from it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use host::Places;
use host::ledger::Ledger;
use tempfile::TempDir;
use upgrade::control_plane::raise::{Note, Run, State, not_written};
use upgrade::control_plane::repair::{Fault, Page};
use upgrade::control_plane::{Component, EtcdVersion};

/// A control-plane node with four manifests.
struct Node {
    _root: TempDir,
    places: Places,
}

fn manifest(component: Component, tag: &str) -> String {
    format!(
        "kind: Pod\nspec:\n  containers:\n  - name: {component}\n    image: r/{component}:{tag}\nstatus: {{}}\n"
    )
}

impl Node {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let node = Self {
            places: Places::running(root.path()),
            _root: root,
        };
        fs::create_dir_all(node.places.state()).unwrap();
        fs::create_dir_all(node.places.root.join("etc/kubernetes/manifests")).unwrap();
        for component in Component::ALL {
            node.put(component, &manifest(component, old(component)));
        }
        node
    }

    fn path(&self, component: Component) -> PathBuf {
        self.ledger("one").live(component)
    }

    fn put(&self, component: Component, text: &str) {
        fs::write(self.path(component), text).unwrap();
    }

    fn read(&self, component: Component) -> String {
        fs::read_to_string(self.path(component)).unwrap()
    }

    fn ledger(&self, id: &str) -> Ledger {
        Ledger::of(&self.places, &id.parse().unwrap())
    }

    /// A raise that has begun.
    fn raising(&self, id: &str, at: u64) -> Ledger {
        let ledger = self.ledger(id);
        ledger.begin().unwrap();
        for component in Component::ALL {
            let text = manifest(component, new(component));
            ledger.expect(component, text.as_bytes()).unwrap();
        }
        ledger.set(&note(at)).unwrap();
        ledger
    }
}

fn note(at: u64) -> Note {
    Note {
        to: "v1.37.0".parse().unwrap(),
        run: Run::Apply,
        etcd: true,
        at,
        state: State::Raising,
    }
}

const fn old(component: Component) -> &'static str {
    match component {
        Component::Etcd => "3.6.8-0",
        Component::ApiServer | Component::ControllerManager | Component::Scheduler => "v1.36.3",
    }
}

const fn new(component: Component) -> &'static str {
    match component {
        Component::Etcd => "3.7.0-0",
        Component::ApiServer | Component::ControllerManager | Component::Scheduler => "v1.37.0",
    }
}

#[test]
fn each_manifest_that_a_cut_took_comes_back() {
    for component in Component::ALL {
        for cut in [None, Some(""), Some("kind: Pod\nspec:\n")] {
            let node = Node::new();
            let ledger = node.raising("one", 1);
            match cut {
                None => fs::remove_file(node.path(component)).unwrap(),
                Some(text) => node.put(component, text),
            }
            let repairs = ledger.repair().unwrap();
            assert_eq!(repairs.len(), 1, "{component} {cut:?}");
            assert_eq!(node.read(component), manifest(component, old(component)));
            assert_eq!(ledger.repair().unwrap(), [], "once is enough");
        }
    }
}

#[test]
fn what_was_whole_last_comes_back() {
    let node = Node::new();
    let ledger = node.raising("one", 1);
    let api = Component::ApiServer;
    node.put(api, &manifest(api, new(api)));
    ledger.follow(api).unwrap();
    node.put(api, "");
    ledger.follow(api).unwrap();
    assert_eq!(ledger.repair().unwrap()[0].fault, Fault::Empty);
    assert_eq!(node.read(api), manifest(api, new(api)));
    assert!(ledger.pages().unwrap()[&api].is_swapped());
}

#[test]
fn a_torn_manifest_is_never_the_last_one() {
    let node = Node::new();
    let ledger = node.raising("one", 1);
    let api = Component::ApiServer;
    let new = manifest(api, new(api));
    for length in 1..new.len() {
        node.put(api, &new[..length]);
        ledger.follow(api).unwrap();
    }
    ledger.repair().unwrap();
    assert_eq!(node.read(api), manifest(api, old(api)));
}

#[test]
fn nothing_is_written_unless_a_raise_is_under_way() {
    let node = Node::new();
    let ledger = node.raising("one", 1);
    ledger.close().unwrap();
    node.put(Component::Etcd, "");
    assert_eq!(ledger.repair().unwrap(), []);
    assert_eq!(node.read(Component::Etcd), "");
    assert!(Ledger::under_way(&node.places).unwrap().is_none());
}

#[test]
fn files_of_other_names_are_not_touched() {
    let node = Node::new();
    let ledger = node.raising("one", 1);
    let other = node.path(Component::Etcd).with_file_name("kube-vip.yaml");
    fs::write(&other, "").unwrap();
    fs::remove_file(node.path(Component::Etcd)).unwrap();
    ledger.repair().unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "");
    let names = fs::read_dir(other.parent().unwrap()).unwrap();
    assert_eq!(names.count(), 5, "and nothing is left beside them");
}

#[test]
fn a_raised_etcd_never_gets_the_older_one_back() {
    let node = Node::new();
    let ledger = node.raising("one", 1);
    let etcd = Component::Etcd;
    node.put(etcd, &manifest(etcd, new(etcd)));
    ledger.follow(etcd).unwrap();
    ledger.has_served(EtcdVersion::new(3, 7, 0)).unwrap();
    ledger.has_served(EtcdVersion::new(3, 6, 8)).unwrap();
    // kubeadm's own way back.
    node.put(etcd, &manifest(etcd, old(etcd)));
    ledger.follow(etcd).unwrap();
    assert_eq!(ledger.repair().unwrap()[0].fault, Fault::OlderEtcd);
    assert_eq!(node.read(etcd), manifest(etcd, new(etcd)));
}

#[test]
fn a_damaged_copy_is_not_written_back() {
    let node = Node::new();
    let ledger = node.raising("one", 1);
    let etcd = Component::Etcd;
    let last = ledger.folder().join("last/etcd.yaml");
    let text = fs::read_to_string(&last).unwrap();
    fs::write(&last, text.replace("3.6.8-0", "3.6.9-0")).unwrap();
    fs::remove_file(node.path(etcd)).unwrap();
    assert_eq!(ledger.repair().unwrap()[0].with, Some(Page::Expected));
    assert_eq!(node.read(etcd), manifest(etcd, new(etcd)));
}

#[test]
fn without_the_mount_nothing_is_written() {
    let node = Node::new();
    let ledger = node.raising("one", 1);
    let kubernetes = node.places.root.join("etc/kubernetes");
    fs::remove_dir_all(kubernetes.join("manifests")).unwrap();
    assert!(ledger.repair().is_err());
    assert_eq!(fs::read_dir(kubernetes).unwrap().count(), 0);
}

#[test]
fn of_two_raises_the_later_one_counts() {
    let node = Node::new();
    node.raising("one", 2);
    node.raising("two", 1);
    let (ledger, note) = Ledger::under_way(&node.places).unwrap().unwrap();
    assert_eq!((ledger.folder(), note.at), (node.ledger("one").folder(), 2));
}

#[test]
fn a_damaged_note_does_not_hide_a_raise() {
    let node = Node::new();
    node.raising("one", 1);
    node.raising("two", 2);
    let note = |id: &str| node.ledger(id).folder().join("raise.json");
    fs::write(note("two"), "{").unwrap();
    let (ledger, _) = Ledger::under_way(&node.places).unwrap().unwrap();
    assert_eq!(ledger.folder(), node.ledger("one").folder());
    fs::write(note("one"), "{").unwrap();
    assert!(Ledger::under_way(&node.places).is_err(), "nobody knows");
}

#[test]
fn a_node_without_an_etcd_gets_none() {
    let node = Node::new();
    fs::remove_file(node.path(Component::Etcd)).unwrap();
    let ledger = node.ledger("one");
    ledger.begin().unwrap();
    ledger.set(&note(1)).unwrap();
    assert_eq!(ledger.repair().unwrap(), []);
    assert!(!node.path(Component::Etcd).exists());
    assert_eq!(ledger.absent().unwrap(), [Component::Etcd]);
    assert_eq!(not_written(true, &ledger.pages().unwrap()), []);
}

/// After a raise the old system may come back. A patch of etcd that has written stays there.
#[test]
fn fallback_keeps_the_patch_of_etcd_that_has_written() {
    let node = Node::new();
    let ledger = node.raising("one", 1);
    let etcd = Component::Etcd;
    let patch = manifest(etcd, "3.6.9-0");
    ledger.expect(etcd, patch.as_bytes()).unwrap();
    node.put(etcd, &patch);
    ledger.follow(etcd).unwrap();
    ledger.has_served(EtcdVersion::new(3, 6, 9)).unwrap();
    // A cut in the raise, and the boots after it.
    assert_eq!(ledger.repair().unwrap(), []);
    ledger.close().unwrap();
    for boot in ["trial", "fallback"] {
        let under_way = Ledger::under_way(&node.places).unwrap();
        assert!(under_way.is_none(), "{boot}");
        assert_eq!(ledger.repair().unwrap(), [], "{boot}");
        assert_eq!(node.read(etcd), patch, "{boot}");
    }
}
