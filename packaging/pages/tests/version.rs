//! Every program for a node contains its build version, for every kind of installation: of two
//! agents the newer runs.

// A failure in a helper fails the test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A replacement for cargo that records the version with which it is called.
const CARGO: &str = r#"#!/bin/sh
if [ "$1" = build ]; then echo "${CAREEN_VERSION:-none}" >>"$CARGO_TARGET_DIR/said"; fi
mkdir -p "$CARGO_TARGET_DIR/image" "$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/stage"
"#;

fn packaging() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("..")
}

/// The version that programs.sh makes cargo compile in.
fn compiled_in(version: Option<&str>) -> BTreeSet<String> {
    let work = TempDir::new().unwrap();
    let cargo = work.path().join("cargo");
    fs::write(&cargo, CARGO).unwrap();
    fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let target = work.path().join("target");
    fs::create_dir(&target).unwrap();
    let mut programs = Command::new(packaging().join("programs.sh"));
    programs
        .arg(work.path().join("out"))
        .env("PATH", format!("{}:{path}", work.path().display()))
        .env("CAREEN_PACKAGES_TARGET", &target)
        .env_remove("CAREEN_VERSION")
        .envs(version.map(|version| ("CAREEN_VERSION", version)));
    assert!(programs.status().unwrap().success());
    let said = fs::read_to_string(target.join("said")).unwrap();
    said.lines().map(str::to_owned).collect()
}

fn of_this_tree() -> String {
    let said = Command::new(packaging().join("version.sh"))
        .output()
        .unwrap();
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

#[test]
fn programs_built_without_a_package_version_report_the_commit() {
    assert_eq!(compiled_in(None), BTreeSet::from([of_this_tree()]));
}

#[test]
fn a_version_that_is_named_goes_before() {
    let named = "0.1.9~202611221200.abc";
    assert_eq!(compiled_in(Some(named)), BTreeSet::from([named.to_owned()]));
}

/// A person who types the build gets the same.
#[test]
fn the_lines_for_making_an_image_without_a_package_name_it() {
    let images = fs::read_to_string(packaging().join("../docs/images.md")).unwrap();
    let (_, lines) = images.split_once("### Without a package").unwrap();
    let (before, _) = lines.split_once("cargo build").unwrap();
    let sets = r#"export CAREEN_VERSION="$(packaging/version.sh)""#;
    assert!(before.contains(sets), "{before}");
}
