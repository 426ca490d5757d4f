//! The same sources give the same bytes.

use std::process::Command;

use tempfile::TempDir;

use crate::root::run;
use crate::shelf::{Shelf, source};

#[test]
fn packages_built_from_another_folder_are_byte_identical() {
    let uncommitted = run(Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(source()));
    assert_eq!(
        uncommitted, "",
        "commit first: the second build is of a clone"
    );
    let elsewhere = TempDir::new().unwrap();
    let clone = elsewhere.path().join("a folder of another name");
    run(Command::new("git")
        .args(["clone", "--quiet"])
        .arg(source())
        .arg(&clone));
    let mut build = Command::new(clone.join("packaging/build.sh"));
    build.env("CAREEN_PACKAGES_TARGET", elsewhere.path().join("target"));
    let theirs = Shelf::built(&mut build, &elsewhere.path().join("out")).all();
    let ours = Shelf::ours().all();
    let names =
        |all: &[(String, Vec<u8>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    for ((name, one), (_, other)) in ours.iter().zip(&theirs) {
        assert!(one == other, "{name} differs");
    }
}

#[test]
fn no_program_tells_where_it_was_built() {
    let home = std::env::var("HOME").unwrap();
    let work = TempDir::new().unwrap();
    for deb in Shelf::ours().debs() {
        run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(work.path()));
    }
    let mut search = Command::new("grep");
    search
        .args(["-rlaF", "-e", "/registry/src/", "-e", &format!("{home}/")])
        .args(["usr/bin", "usr/libexec"].map(|folder| work.path().join(folder)));
    let found = search.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
