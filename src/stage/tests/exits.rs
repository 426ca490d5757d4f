//! A wrong call ends as docs/exit-codes.md says.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use upgrade::exit;

#[test]
fn a_wrong_call_is_told_by_its_own_code_and_the_usage() {
    let stage = env!("CARGO_BIN_EXE_careen-stage");
    let grub = env!("CARGO_BIN_EXE_careen-grub");
    for (program, argument) in [(stage, "sail"), (stage, "--sail"), (grub, "--sail")] {
        let output = Command::new(program).arg(argument).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)), "{said}");
        assert!(said.contains("usage:"), "{said}");
    }
}

#[test]
fn help_is_printed_on_standard_output_and_is_no_failure() {
    let stage = env!("CARGO_BIN_EXE_careen-stage");
    let grub = env!("CARGO_BIN_EXE_careen-grub");
    for (program, argument) in [(stage, "--help"), (stage, "-h"), (grub, "--help")] {
        let output = Command::new(program).arg(argument).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(i32::from(exit::DONE)), "{said}");
        assert!(said.contains("usage:"), "{said}");
    }
}

#[test]
fn a_grub_cfg_that_cannot_be_written_is_told_as_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let entries = folder.path().join("boot/loader.1/entries");
    fs::create_dir_all(&entries).unwrap();
    fs::write(entries.join("ostree-1.conf"), "no entry\n").unwrap();
    let mut grub = Command::new(env!("CARGO_BIN_EXE_careen-grub"));
    grub.arg("-o")
        .arg(folder.path().join("boot/loader.1/grub.cfg"));
    let output = grub.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(i32::from(exit::FAILED)),
        "{said}"
    );
    assert!(said.contains("is unchanged"), "{said}");
}
