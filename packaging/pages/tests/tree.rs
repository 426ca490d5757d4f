//! What the node's package lays out, with programs and papers of no content.

// What helpers find amiss ends the test, as it should.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use upgrade::Policy;

const PROGRAMS: [&str; 4] = [
    "careen-agent",
    "careen-deploy",
    "careen-grub",
    "careen-stage",
];

fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

/// Makes empty files below `folder`.
fn empty(folder: &Path, files: impl IntoIterator<Item = String>) {
    for file in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
}

/// The laid out tree, below `tree` in the folder.
fn laid_out() -> TempDir {
    let work = TempDir::new().unwrap();
    let programs = work.path().join("programs");
    let papers = work.path().join("papers");
    empty(&programs, PROGRAMS.map(str::to_owned));
    pages::write(&papers).unwrap();
    let said = ["careen-agent", "careen-deploy", "careen-stage"];
    empty(
        &papers,
        said.map(|program| format!("sbom/{program}.cdx.json")),
    );
    empty(
        &papers,
        said.map(|program| format!("licences/{program}.txt")),
    );
    let status = Command::new(source().join("packaging/careen/tree.sh"))
        .args([&programs, &papers, &work.path().join("tree")])
        .status();
    assert!(status.unwrap().success());
    work
}

#[test]
fn the_policy_that_is_installed_changes_nothing_until_it_is_edited() {
    let work = laid_out();
    let text = fs::read_to_string(work.path().join("tree/etc/careen/policy.toml")).unwrap();
    assert_eq!(toml::from_str::<Policy>(&text).unwrap(), Policy::default());
    let edited = text.replace("#trials = 2", "trials = 3");
    assert_eq!(toml::from_str::<Policy>(&edited).unwrap().trials, 3);
}

#[test]
fn every_unit_and_every_file_of_the_dracut_module_is_laid_out() {
    let work = laid_out();
    for (from, to) in [
        ("systemd/system", "usr/lib/systemd/system"),
        ("systemd/system-preset", "usr/lib/systemd/system-preset"),
        ("systemd/tmpfiles.d", "usr/lib/tmpfiles.d"),
        ("dracut/55careen", "usr/lib/dracut/modules.d/55careen"),
    ] {
        for entry in fs::read_dir(source().join(from)).unwrap() {
            let name = entry.unwrap().file_name();
            let there = work.path().join("tree").join(to).join(&name);
            assert!(there.exists(), "{}", there.display());
        }
    }
}
