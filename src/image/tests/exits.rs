//! `careen-image` ends as docs/exit-codes.md says.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use upgrade::exit;

/// Its code and what it says of a repository and a destination.
fn ended(repo: &str, destination: &str) -> (Option<i32>, String) {
    let mut image = Command::new(env!("CARGO_BIN_EXE_careen-image"));
    let output = image
        .args(["--repo", repo, "site/stable", destination])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn a_destination_that_is_none_is_a_wrong_call() {
    let (code, said) = ended("/nonexistent", "registry.example.com/os");
    assert_eq!(code, Some(i32::from(exit::USAGE)), "{said}");
    assert!(said.contains("use docker://"), "{said}");
}

#[test]
fn a_repository_that_is_not_there_is_a_failure_that_names_it() {
    let (code, said) = ended("/nonexistent", "oci:/tmp/os");
    assert_eq!(code, Some(i32::from(exit::FAILED)), "{said}");
    assert!(said.contains("/nonexistent"), "{said}");
}
