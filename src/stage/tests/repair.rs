//! `careen-stage repair` on the files of a control plane whose raise was cut.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use host::Places;
use host::ledger::Ledger;
use upgrade::control_plane::Component;
use upgrade::control_plane::raise::{Note, Run, State};

fn repair(root: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-stage"));
    command.arg("repair").arg("--root").arg(root);
    command.arg("--sysroot").arg(root.join("sysroot"));
    command.args(more).output().unwrap()
}

/// A node whose etcd.yaml is empty.
fn cut(root: &Path, state: State) -> Ledger {
    let places = Places::running(root);
    fs::create_dir_all(places.state()).unwrap();
    fs::create_dir_all(root.join("etc/kubernetes/manifests")).unwrap();
    let ledger = Ledger::of(&places, &"one".parse().unwrap());
    for component in Component::ALL {
        fs::write(ledger.live(component), format!("{component}\n")).unwrap();
    }
    ledger.begin().unwrap();
    let (to, run) = ("v1.36.4".parse().unwrap(), Run::Node);
    ledger
        .set(&Note {
            to,
            run,
            etcd: false,
            at: 1,
            state,
        })
        .unwrap();
    fs::write(ledger.live(Component::Etcd), "").unwrap();
    ledger
}

#[test]
fn a_manifest_that_a_cut_took_is_there_before_the_kubelet() {
    let root = tempfile::tempdir().unwrap();
    let ledger = cut(root.path(), State::Raising);
    let etcd = ledger.live(Component::Etcd);
    let output = repair(root.path(), &["--dry-run"]);
    assert!(output.status.success());
    assert_eq!(fs::read_to_string(&etcd).unwrap(), "");
    let output = repair(root.path(), &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("etcd.yaml is empty"), "{said}");
    assert_eq!(fs::read_to_string(&etcd).unwrap(), "etcd\n");
    let output = repair(root.path(), &[]);
    assert!(output.status.success() && output.stderr.is_empty());
}

#[test]
fn a_node_that_raises_nothing_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let output = repair(root.path(), &[]);
    assert!(output.status.success(), "without a folder of Careen's");
    let ledger = cut(root.path(), State::Over);
    let output = repair(root.path(), &[]);
    assert!(output.status.success() && output.stderr.is_empty());
    let etcd = fs::read_to_string(ledger.live(Component::Etcd)).unwrap();
    assert_eq!(etcd, "");
}

#[test]
fn a_manifest_without_a_copy_is_told() {
    let root = tempfile::tempdir().unwrap();
    let ledger = cut(root.path(), State::Raising);
    ledger.has_served("3.7.0".parse().unwrap()).unwrap();
    let output = repair(root.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("Put the manifest there by hand"), "{said}");
}
