//! After two builds into one folder, the folder contains the packages of the second build.

// A failure in a helper fails the test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

#[test]
fn clear_removes_only_earlier_builds_of_the_named_package() {
    let out = TempDir::new().unwrap();
    let former = [
        "careen_0.1.0~202511220826.0123456789ab-1_amd64.deb",
        "careen-0.1.0~202511220826.0123456789ab-1.x86_64.rpm",
    ];
    let others = [
        "careen-image_0.1.0-1_amd64.deb",
        "careen-image-0.1.0-1.x86_64.rpm",
        "kubectl-careen_0.1.0-1_amd64.deb",
        "notes.txt",
    ];
    for name in former.iter().chain(&others) {
        fs::write(out.path().join(name), "").unwrap();
    }
    let packaging = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let mut clear = Command::new(packaging.join("clear.sh"));
    clear.arg("careen").arg(out.path());
    assert!(clear.status().unwrap().success());
    let left = fs::read_dir(out.path()).unwrap();
    let left: BTreeSet<String> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, BTreeSet::from(others.map(str::to_owned)));
    assert!(
        clear.status().unwrap().success(),
        "nothing is left to clear"
    );
}
