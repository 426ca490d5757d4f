//! An agent on a separate mount, such as /var on an OSTree system, knows its path after it gets its
//! own mounts. Needs root.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// Run by the test below, alone in its process: a thread that keeps the old mounts would keep the
/// path, too.
#[test]
#[ignore = "the other test runs it, from a mount"]
fn says_where_it_lies() {
    agent::executables::program().unwrap();
    host::mounts::make_private().unwrap();
    println!(
        "\nPROGRAM {}",
        agent::executables::program().unwrap().display()
    );
}

#[test]
fn behind_a_change_of_mounts_it_is_found_where_it_was_started() {
    let place = tempfile::tempdir().unwrap();
    let test = std::env::current_exe().unwrap();
    let (folder, name) = (test.parent().unwrap(), test.file_name().unwrap());
    let started = place.path().join(name);
    let script = "mount --bind \"$1\" \"$2\" && exec \"$3\" --exact says_where_it_lies --ignored --nocapture --test-threads=1";
    let mut child = Command::new("unshare");
    child.args(["--mount", "sh", "-c", script, "sh"]);
    child.args([folder, place.path(), started.as_path()]);
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = said.lines().find_map(|line| line.strip_prefix("PROGRAM "));
    assert_eq!(found.map(Path::new), Some(started.as_path()), "{said}");
}
