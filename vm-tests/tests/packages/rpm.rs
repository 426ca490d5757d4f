//! The .rpm. Fedora is not at hand: rpm itself is real, the root is empty, or Debian's where
//! scripts are to run.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::root::{Root, files, run};
use crate::shelf::Shelf;

/// rpm on a root. Debian's keeps its notes in the home folder, unless it is told where Fedora has
/// them.
fn rpm(root: &Path) -> Command {
    let mut rpm = Command::new("rpm");
    rpm.arg("--root")
        .arg(root)
        .args(["--dbpath", "/var/lib/rpm"]);
    rpm
}

#[test]
fn in_an_empty_root_it_installs_and_leaves_no_file() {
    let root = TempDir::new().unwrap();
    let package = Shelf::ours().rpm();
    // What it requires, a shell for its scripts too, is not there.
    run(rpm(root.path())
        .args(["--nodeps", "--noscripts", "-i"])
        .arg(package));
    assert!(root.path().join("usr/libexec/careen/careen-stage").exists());
    run(rpm(root.path()).args(["--noscripts", "-e", "careen"]));
    assert_eq!(files(root.path()), BTreeSet::new());
}

#[test]
fn its_scripts_enable_by_preset_and_disable_again() {
    let root = Root::new();
    let before = files(&root.path());
    run(rpm(&root.path())
        .args(["--nodeps", "-i"])
        .arg(Shelf::ours().rpm()));
    assert!(root.enabled("careen-agent.service"));
    assert!(root.enabled("careen-deadman.timer"));
    run(rpm(&root.path()).args(["--nodeps", "-e", "careen"]));
    assert_eq!(files(&root.path()), before);
}

#[test]
fn it_asks_for_the_libraries_that_its_programs_are_linked_with() {
    let asked = run(Command::new("rpm")
        .args(["-qp", "--requires"])
        .arg(Shelf::ours().rpm()));
    for library in ["libostree-1.so.1", "libglib-2.0.so.0", "libc.so.6(GLIBC_"] {
        assert!(asked.contains(library), "{library} is not in\n{asked}");
    }
}

#[test]
fn the_plugin_is_a_package_of_its_own_that_leaves_no_file() {
    let root = TempDir::new().unwrap();
    run(rpm(root.path())
        .args(["--nodeps", "--noscripts", "-i"])
        .arg(Shelf::ours().plugin_rpm()));
    for program in ["kubectl-careen", "kubectl_complete-careen"] {
        assert!(root.path().join("usr/bin").join(program).exists());
    }
    run(rpm(root.path()).args(["--noscripts", "-e", "kubectl-careen"]));
    assert_eq!(files(root.path()), BTreeSet::new());
}

#[test]
fn image_rpm_is_separate_and_requires_skopeo() {
    let package = Shelf::ours().image_rpm();
    let asked = run(Command::new("rpm")
        .args(["-qp", "--requires"])
        .arg(&package));
    for name in ["skopeo", "libostree-1.so.1"] {
        assert!(asked.contains(name), "{name} is not in\n{asked}");
    }
    let root = TempDir::new().unwrap();
    run(rpm(root.path())
        .args(["--nodeps", "--noscripts", "-i"])
        .arg(package));
    assert!(root.path().join("usr/bin/careen-image").exists());
    run(rpm(root.path()).args(["--noscripts", "-e", "careen-image"]));
    assert_eq!(files(root.path()), BTreeSet::new());
}
