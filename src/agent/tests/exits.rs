//! The agent's program ends as docs/exit-codes.md says.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use upgrade::{exit, names};

fn record(root: &Path) -> Output {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_careen-agent"));
    agent.arg("record").arg("--root").arg(root);
    agent.output().unwrap()
}

#[test]
fn a_wrong_call_is_told_by_its_own_code() {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_careen-agent"));
    let output = agent.arg("--sail").output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)));
}

#[test]
fn root_that_is_no_folder_is_named_with_what_is_accepted() {
    let output = record(Path::new("/absent"));
    assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)));
    let said = String::from_utf8_lossy(&output.stderr);
    let expected =
        "invalid value '/absent' for '--root <FOLDER>': it is not a folder; use the root";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn the_record_of_a_node_that_was_never_asked_is_printed_too() {
    let root = tempfile::tempdir().unwrap();
    let output = record(root.path());
    assert_eq!(output.status.code(), Some(i32::from(exit::DONE)));
    let printed: upgrade::Record = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed, upgrade::Record::default());
}

#[test]
fn a_record_that_cannot_be_read_is_a_failure_with_its_reason() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sysroot").join(names::STATE_DIR);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("record.a"), "torn").unwrap();
    let output = record(root.path());
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the record cannot be read"), "{said}");
}
