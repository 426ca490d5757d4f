//! A sound node, and each fault that a node can have: exactly the check for that fault reports it.

#[path = "../../../host/tests/disk/mod.rs"]
mod disk;
mod machine;
pub(super) mod node;
mod programs;
mod registries;
mod remotes;
mod settings;
mod system;

use super::{Verdict, examine};
use host::file_system::FileSystem;
use node::Node;

/// GRUB writes only on some file systems, and a test's folder may be on another one.
fn grub_writes_here(node: &Node) -> bool {
    let found = FileSystem::of(&node.disk.places.grubenv()).unwrap();
    [FileSystem::Ext, FileSystem::Xfs].contains(&found)
}

#[test]
fn on_a_sound_node_every_check_is_content() {
    let node = Node::sound();
    // Properties of the test's own disk: fs-verity, room, and whether GRUB can write there.
    let own = |name: &str| {
        ["fs-verity", "boot-room", "root-room"].contains(&name)
            || name == "loader" && !grub_writes_here(&node)
    };
    for finding in examine(&node.patient()) {
        assert!(
            own(finding.name) || finding.verdict == Verdict::Ok,
            "{finding:?}"
        );
    }
}

#[test]
fn every_check_stands_in_the_docs() {
    let docs = include_str!("../../../../docs/doctor.md");
    let found = examine(&Node::sound().patient()).into_iter();
    // The findings that a node made of folders does not have.
    let others = ["api-server", "containerd", "kubelet", "opt-out", "registry"];
    for name in found.map(|finding| finding.name).chain(others) {
        assert!(docs.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn looking_changes_nothing() {
    let node = Node::sound();
    let before = disk::content(node.disk.folder.path());
    let _ = examine(&node.patient());
    assert!(before == disk::content(node.disk.folder.path()));
}
