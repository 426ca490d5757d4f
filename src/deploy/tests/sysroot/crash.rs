use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use upgrade::Reason;

use crate::fetch::{halfway, wait_for};
use crate::image::{Image, noise};
use crate::keys::keys;
use crate::world::{World, fetching, world};

/// A world whose boot loader's generator is this script, run in the very middle of the swap.
pub fn with_generator(script: &str) -> World {
    let mut world = world();
    world.ostree(&[
        &world.local(),
        "config",
        "set",
        "sysroot.bootloader",
        "grub2",
    ]);
    let grub = world.root().join("boot/grub");
    fs::create_dir_all(&grub).unwrap();
    let path: PathBuf = world.path("generator");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    world.generator = Some(path);
    world
}

pub fn repair(world: &World) {
    fs::write(world.path("generator"), "#!/bin/sh\nexec touch \"$2\"\n").unwrap();
}

#[test]
fn deploy_killed_in_the_swap_keeps_the_menu_and_can_be_rerun() {
    let world = with_generator("kill -9 $PPID");
    let commit = world.fetched(&Image::new(2));
    let menu = world.menu();
    let output = world
        .command(&["deploy", "--commit", commit.as_str()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "the test kills it");
    assert_eq!(world.menu(), menu);
    assert_eq!(world.order(), [world.installed.as_str()]);
    repair(&world);
    world.verb("deploy", &commit).deployed();
    assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
}

/// Gives the running system another kernel argument: libostree runs the generator only when a boot
/// entry is to change.
fn another_argument(world: &World) {
    let sysroot = format!("--sysroot={}", world.root().display());
    let bootloader =
        |name| world.ostree(&[&world.local(), "config", "set", "sysroot.bootloader", name]);
    bootloader("none");
    world.ostree(&[
        "admin",
        "instutil",
        "set-kargs",
        &sysroot,
        "root=LABEL=node",
        "quiet",
    ]);
    bootloader("grub2");
}

#[test]
fn deployment_is_stale_when_its_redeploy_dies_before_the_swap() {
    let world = with_generator("exec touch \"$2\"");
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert!(!world.etc_has_changed(&commit));
    fs::write(world.etc("hosts"), "changed since").unwrap();
    another_argument(&world);
    fs::write(world.path("generator"), "#!/bin/sh\nkill -9 $PPID\n").unwrap();
    let output = world
        .command(&["deploy", "--commit", commit.as_str()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "the test kills it");
    assert!(
        world.etc_has_changed(&commit),
        "the old deployment passes for one with the new /etc"
    );
}

#[test]
fn deploy_killed_after_the_swap_is_found_up_to_date_next_time() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let made = world.verb("deploy", &commit).deployed();
    // What is written after the swap.
    let state = world.root().join("ostree/careen");
    fs::remove_file(state.join(format!("etc-{commit}"))).unwrap();
    fs::remove_file(state.join(format!("manifest-{commit}.json"))).unwrap();
    assert!(world.etc_has_changed(&commit));
    assert_eq!(world.verb("deploy", &commit).deployed(), made);
    assert!(!world.etc_has_changed(&commit));
    assert!(state.join(format!("manifest-{commit}.json")).exists());
}

#[test]
fn undo_after_a_kill_in_the_swap_restores_the_disk() {
    let world = with_generator("kill -9 $PPID");
    let before = world.disk();
    let commit = world.fetched(&Image::new(2));
    world
        .command(&["deploy", "--commit", commit.as_str()])
        .output()
        .unwrap();
    repair(&world);
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.disk(), before);
}

#[test]
fn bless_killed_in_the_swap_keeps_the_default_and_can_be_rerun() {
    let world = with_generator("exec touch \"$2\"");
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    fs::write(world.path("generator"), "#!/bin/sh\nkill -9 $PPID\n").unwrap();
    world
        .command(&["bless", "--commit", commit.as_str()])
        .output()
        .unwrap();
    assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
    repair(&world);
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
}

/// The disk, but for the pin on the running system, which stays until the undo.
fn without_origins(world: &World) -> Vec<String> {
    let mut disk = world.disk();
    disk.retain(|entry| !entry.contains(".origin "));
    disk
}

#[test]
fn a_generator_that_fails_leaves_the_old_menu_and_no_litter() {
    let world = with_generator("echo no >&2; exit 1");
    let commit = world.fetched(&Image::new(2));
    let seen = || (without_origins(&world), world.menu());
    let before = seen();
    let reason = world.verb("deploy", &commit).reason();
    assert!(matches!(reason, Reason::DeployFailed { .. }), "{reason}");
    assert_eq!(seen(), before);
}

#[test]
fn sigterm_in_the_swap_is_deferred_until_the_swap_is_done() {
    let world = with_generator("kill -TERM $PPID; exec touch \"$2\"");
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
}

#[test]
fn killed_while_fetching_the_next_fetch_takes_up_what_came() {
    let world = world();
    let (commit, mut child) = halfway(&world);
    kill(
        Pid::from_raw(child.id().try_into().unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    child.wait().unwrap();
    world.server.recover();
    let (_, bytes) = world.fetch(&commit).fetched();
    assert!(bytes < 2_000_000, "{bytes} of 2.5 MB were fetched again");
    world.verb("verify", &commit).verified();
}

#[test]
fn killed_while_fetching_undo_leaves_the_disk_as_it_was() {
    let world = world();
    let before = world.disk();
    let commit = world.publish(
        &Image::new(2).with("usr/share/big", &noise(60, 900_000)),
        Some(&keys().trusted),
    );
    world.server.stall_after(600_000);
    let mut child = world.start(&fetching(&commit));
    wait_for(|| world.server.is_stalled());
    child.kill().unwrap();
    child.wait().unwrap();
    world.server.recover();
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.disk(), before);
}
