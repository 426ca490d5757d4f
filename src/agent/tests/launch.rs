//! `careen-agent launch` becomes the newer agent that a pod has installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use host::agents::{Agents, Bundle, PROGRAMS, Role};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// An agent that says what it was called with.
const AGENT: &str = "#!/bin/sh\necho \"pid $$:\" \"$@\"\n";

/// A node on which a pod has installed that agent, as this version.
fn node(version: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    install(root.path(), version);
    root
}

fn install(root: &Path, version: &str) {
    let pod = tempfile::tempdir().unwrap();
    let mut sums = String::new();
    for program in PROGRAMS {
        sums += &format!("{}  {program}\n", hex::encode(Sha256::digest(AGENT)));
        fs::write(pod.path().join(program), AGENT).unwrap();
    }
    fs::write(pod.path().join("SHA256SUMS"), sums).unwrap();
    fs::write(pod.path().join("VERSION"), version).unwrap();
    let agents = Agents::below(root);
    let bundle = Bundle::open(pod.path()).unwrap();
    agents.take(&bundle).unwrap();
    agents.appoint(Role::Wanted, &bundle.id).unwrap();
}

/// A file system with /boot and /var on it, seen by this test's thread alone.
struct OneDisk(TempDir);

impl OneDisk {
    fn mount() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let none = None::<&str>;
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
        let disk = Self(folder);
        let image = disk.0.path().join("image");
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        fs::create_dir(disk.root()).unwrap();
        call("mkfs.ext4", &["-q"], &image);
        let mounted = Command::new("mount")
            .args(["-o", "loop"])
            .args([&image, &disk.root()])
            .status();
        assert!(mounted.unwrap().success());
        fs::create_dir(disk.root().join("boot")).unwrap();
        disk
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("root")
    }
}

impl Drop for OneDisk {
    fn drop(&mut self) {
        let _ = host::freeze::thaw(&self.root());
        let _ = umount2(&self.root(), MntFlags::MNT_DETACH);
    }
}

fn call(program: &str, arguments: &[&str], path: &Path) {
    let status = Command::new(program).args(arguments).arg(path).status();
    assert!(status.unwrap().success(), "{program}");
}

#[test]
fn launch_thaws_a_frozen_var_before_it_records_the_start() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not checked: who is not root can freeze nothing");
        return;
    }
    let disk = OneDisk::mount();
    install(&disk.root(), "99.0.0");
    // As a careen-deploy that is killed has left it.
    std::mem::forget(host::freeze::Mark::leave(&disk.root()).unwrap());
    call("fsfreeze", &["--freeze"], &disk.root());
    let mut agent = Command::new(env!("CARGO_BIN_EXE_careen-agent"));
    agent.args(["launch", "--root"]).arg(disk.root());
    let mut child = agent.stdout(Stdio::null()).spawn().unwrap();
    let ended = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        child.try_wait().unwrap()
    });
    let _ = host::freeze::thaw(&disk.root());
    let ended = ended.expect("it waits for the frozen file system");
    assert!(ended.success());
    let launched = Agents::below(&disk.root()).launched().unwrap();
    assert_eq!(launched.tried.unwrap().starts, 1);
}

fn launch(root: &Path) -> (u32, Output) {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_careen-agent"));
    agent.args(["launch", "--root"]).arg(root);
    let child = agent.stdout(Stdio::piped()).spawn().unwrap();
    (child.id(), child.wait_with_output().unwrap())
}

#[test]
fn launch_keeps_pid_and_arguments_and_counts_the_start() {
    let root = node("99.0.0");
    let (pid, output) = launch(root.path());
    let said = String::from_utf8(output.stdout).unwrap();
    let wanted = format!("pid {pid}: run --root {}\n", root.path().display());
    assert_eq!(said, wanted);
    let tried = Agents::below(root.path()).launched().unwrap().tried;
    assert_eq!(tried.unwrap().starts, 1);
}

#[test]
fn agent_is_not_picked_after_three_unconfirmed_starts() {
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
fn reboots_after_an_agent_has_lasted_do_not_use_up_its_starts() {
    let root = node("99.0.0");
    let agents = Agents::below(root.path());
    let image = upgrade::release::THIS.parse().unwrap();
    for boot in 1..=3 * upgrade::launch::STARTS {
        let bundle = agents.pick(Some(&image)).bundle;
        let bundle = bundle.unwrap_or_else(|| panic!("not picked in boot {boot}"));
        agent::launch::lasted(&agents, &bundle.program("careen-agent"));
    }
    // Another program that lasts says nothing of it.
    for _start in 0..upgrade::launch::STARTS {
        assert!(agents.pick(Some(&image)).bundle.is_some());
        agent::launch::lasted(&agents, Path::new("/usr/libexec/careen/careen-agent"));
    }
    assert!(agents.pick(Some(&image)).bundle.is_none());
}

#[test]
fn one_that_is_not_newer_than_this_one_is_not_picked() {
    let root = node(upgrade::release::THIS);
    let own = Path::new("/usr/libexec/careen/careen-agent");
    assert!(agent::launch::other(&Agents::below(root.path()), own).is_none());
}

#[test]
fn pod_installed_launcher_runs_a_bundle_of_any_release() {
    let root = node("0.0.1");
    let agents = Agents::below(root.path());
    let own = agents.folder().join("0.0.0-0123456789ab/careen-agent");
    assert!(agent::launch::other(&agents, &own).is_some());
}

#[test]
fn uncountable_start_rejects_a_new_agent_but_runs_a_proven_one() {
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
fn agent_that_cannot_execute_is_recorded_and_not_picked_again() {
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
fn pod_installed_launcher_records_itself_as_what_runs() {
    let root = node("99.0.0");
    let agents = Agents::below(root.path());
    let own = agents.folder().join("0.0.0-0123456789ab/careen-agent");
    let picked = agent::launch::other(&agents, &own).unwrap();
    agent::launch::stay(&agents, &picked, &own, &refused());
    let ran = agents.launched().unwrap().ran.unwrap();
    assert_eq!(ran.as_str(), "0.0.0-0123456789ab");
}
