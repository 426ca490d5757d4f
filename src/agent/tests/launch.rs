//! `careen-agent launch` becomes the newer agent that a pod has installed.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use host::agents::{Agents, Bundle, PROGRAMS, Role};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// An agent that says what it was called with.
const AGENT: &str = "#!/bin/sh\necho \"pid $$:\" \"$@\"\n";

/// A node on which a pod has installed that agent, as this version.
fn node(version: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let pod = tempfile::tempdir().unwrap();
    let mut sums = String::new();
    for program in PROGRAMS {
        sums += &format!("{}  {program}\n", hex::encode(Sha256::digest(AGENT)));
        fs::write(pod.path().join(program), AGENT).unwrap();
    }
    fs::write(pod.path().join("SHA256SUMS"), sums).unwrap();
    fs::write(pod.path().join("VERSION"), version).unwrap();
    let agents = Agents::below(root.path());
    let bundle = Bundle::open(pod.path()).unwrap();
    agents.take(&bundle).unwrap();
    agents.appoint(Role::Wanted, &bundle.id).unwrap();
    root
}

fn launch(root: &Path) -> (u32, Output) {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_careen-agent"));
    agent.args(["launch", "--root"]).arg(root);
    let child = agent.stdout(std::process::Stdio::piped()).spawn().unwrap();
    (child.id(), child.wait_with_output().unwrap())
}

#[test]
fn it_is_the_same_process_with_the_same_arguments_and_the_start_is_counted() {
    let root = node("99.0.0");
    let (pid, output) = launch(root.path());
    let said = String::from_utf8(output.stdout).unwrap();
    let wanted = format!("pid {pid}: run --root {}\n", root.path().display());
    assert_eq!(said, wanted);
    let tried = Agents::below(root.path()).launched().unwrap().tried;
    assert_eq!(tried.unwrap().starts, 1);
}

#[test]
fn after_three_starts_without_a_word_that_it_runs_it_is_not_picked_again() {
    let root = node("99.0.0");
    let agents = Agents::below(root.path());
    let image = upgrade::release::THIS.parse().unwrap();
    for start in 1..=upgrade::launch::STARTS {
        assert!(agents.pick(Some(&image)).bundle.is_some(), "start {start}");
    }
    assert!(agents.pick(Some(&image)).bundle.is_none());
    assert_eq!(agents.launched().unwrap().ran, None);
}

#[test]
fn one_that_is_not_newer_than_this_one_is_not_picked() {
    let root = node(upgrade::release::THIS);
    let own = Path::new("/usr/libexec/careen/careen-agent");
    assert!(agent::launch::other(&Agents::below(root.path()), own).is_none());
}

#[test]
fn launched_by_one_that_a_pod_has_installed_there_is_no_image_to_be_newer() {
    let root = node("0.0.1");
    let agents = Agents::below(root.path());
    let own = agents.folder().join("0.0.0-0123456789ab/careen-agent");
    assert!(agent::launch::other(&agents, &own).is_some());
}

#[test]
fn where_the_start_cannot_be_counted_a_new_one_is_left_and_a_proven_one_runs() {
    let root = node("99.0.0");
    let agents = Agents::below(root.path());
    let image = upgrade::release::THIS.parse().unwrap();
    // A folder in the place of the note: no note can be written there.
    fs::create_dir(agents.folder().join("launched")).unwrap();
    let pick = agents.pick(Some(&image));
    assert!(pick.bundle.is_none() && pick.damage.len() == 1, "{pick:?}");
    let id = agents.id(Role::Wanted).unwrap().unwrap();
    agents.appoint(Role::Proven, &id).unwrap();
    assert!(agents.pick(Some(&image)).bundle.is_some());
}

/// As the kernel says it of a program on a file system that is mounted noexec.
fn refused() -> std::io::Error {
    std::io::ErrorKind::PermissionDenied.into()
}

#[test]
fn one_that_this_system_cannot_run_is_noted_as_such_and_not_picked_again() {
    let root = node("99.0.0");
    let agents = Agents::below(root.path());
    let own = Path::new("/usr/libexec/careen/careen-agent");
    let picked = agent::launch::other(&agents, own).unwrap();
    agent::launch::stay(&agents, &picked, own, &refused());
    let noted = agents.launched().unwrap();
    assert_eq!(noted.ran, None);
    assert_eq!(noted.release, upgrade::release::THIS);
    assert!(agent::launch::other(&agents, own).is_none());
}

#[test]
fn and_a_launcher_that_a_pod_has_installed_is_noted_as_what_runs() {
    let root = node("99.0.0");
    let agents = Agents::below(root.path());
    let own = agents.folder().join("0.0.0-0123456789ab/careen-agent");
    let picked = agent::launch::other(&agents, &own).unwrap();
    agent::launch::stay(&agents, &picked, &own, &refused());
    let ran = agents.launched().unwrap().ran.unwrap();
    assert_eq!(ran.as_str(), "0.0.0-0123456789ab");
}
