//! A node whose grub.cfg is written by grub-mkconfig: its real header, and the entries of the real
//! `ostree admin instutil grub2-generate`, which is all that libostree's 15_ostree runs.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use host::loader::TRIAL_ARGUMENTS;
use upgrade::deploy::Done;

use crate::image::Image;
use crate::menu::{armed, is_unfit};
use crate::world::{World, world};

const SAMPLE: &str = include_str!("../../../host/src/loader/grub/stock-grub.cfg");

/// The administrator's own: one of a trial's, which must outlive the trial.
const OWN: &str = "panic=10";

fn header() -> &'static str {
    SAMPLE
        .split("### BEGIN /etc/grub.d/10_linux")
        .next()
        .unwrap()
}

fn stock() -> World {
    let mut world = world();
    let sysroot = format!("--sysroot={}", world.root().display());
    world.ostree(&[
        "admin",
        "instutil",
        "set-kargs",
        &sysroot,
        "root=LABEL=node",
        OWN,
    ]);
    set_bootloader(&world, "grub2");
    let boot = world.root().join("boot");
    fs::create_dir_all(boot.join("grub")).unwrap();
    fs::write(boot.join("loader/grub.cfg"), header()).unwrap();
    symlink("../loader/grub.cfg", boot.join("grub/grub.cfg")).unwrap();
    save(&world, "");
    fs::write(world.path("header"), header()).unwrap();
    world.generator = Some(generator(&world, "stock", &mkconfig(&world)));
    world
}

fn set_bootloader(world: &World, name: &str) {
    world.ostree(&[&world.local(), "config", "set", "sysroot.bootloader", name]);
}

fn mkconfig(world: &World) -> String {
    format!(
        "set -eu\ncat {} >\"$2\"\nexport GRUB2_BOOT_DEVICE_ID=1234 GRUB2_PREPARE_ROOT_CACHE=\n\
         ostree admin instutil grub2-generate --sysroot={} >>\"$2\"",
        world.path("header").display(),
        world.root().display()
    )
}

fn generator(world: &World, name: &str, script: &str) -> PathBuf {
    let path = world.path(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// Fills GRUB's environment block.
fn save(world: &World, variables: &str) {
    let mut block = format!("# GRUB Environment Block\n{variables}").into_bytes();
    block.resize(host::loader::grub::LENGTH, b'#');
    fs::write(world.root().join("boot/grub/grubenv"), block).unwrap();
}

/// The kernel arguments of an image's boot entry.
fn arguments(world: &World, version: u32) -> Vec<String> {
    let title = format!("title Test {version} ");
    let menu = world.menu();
    let (_, entry) = menu.iter().find(|(_, text)| text.contains(&title)).unwrap();
    let options = entry.lines().find_map(|line| line.strip_prefix("options "));
    options.unwrap().split(' ').map(str::to_owned).collect()
}

fn is_trial(arguments: &[String]) -> bool {
    TRIAL_ARGUMENTS
        .split(' ')
        .all(|wanted| arguments.iter().filter(|found| *found == wanted).count() == 1)
}

fn is_plain(arguments: &[String]) -> bool {
    let left = arguments
        .iter()
        .filter(|found| TRIAL_ARGUMENTS.split(' ').any(|ours| *found == ours));
    left.eq([OWN]) && arguments.contains(&"root=LABEL=node".to_owned())
}

#[test]
fn deploy_marks_only_the_new_entry_as_a_trial_and_can_arm_it() {
    let world = stock();
    let commit = world.fetched(&Image::new(2));
    let made = world.verb("deploy", &commit).deployed();
    assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
    assert!(
        is_trial(&arguments(&world, 2)),
        "{:?}",
        arguments(&world, 2)
    );
    assert!(
        is_plain(&arguments(&world, 1)),
        "{:?}",
        arguments(&world, 1)
    );
    assert_eq!(armed(&world, &made).unwrap(), 1);
}

#[test]
fn bless_drops_only_the_trial_arguments() {
    let world = stock();
    let commit = world.fetched(&Image::new(2));
    let made = world.verb("deploy", &commit).deployed();
    assert_eq!(world.verb("bless", &commit).verdict, Ok(Done::Blessed));
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
    assert!(
        is_plain(&arguments(&world, 2)),
        "{:?}",
        arguments(&world, 2)
    );
    assert!(
        is_plain(&arguments(&world, 1)),
        "{:?}",
        arguments(&world, 1)
    );
    assert!(is_unfit(&armed(&world, &made)), "it is no trial any more");
}

#[test]
fn killed_bless_changes_neither_menu_order_nor_arguments() {
    let world = stock();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let before = world.menu();
    generator(&world, "stock", "kill -9 $PPID");
    let mut bless = world.command(&["bless", "--commit", commit.as_str()]);
    assert_eq!(
        bless.output().unwrap().status.code(),
        None,
        "the test kills it"
    );
    assert_eq!(world.menu(), before);
    generator(&world, "stock", &mkconfig(&world));
    world.verb("bless", &commit).verdict.unwrap();
    assert!(
        is_plain(&arguments(&world, 2)),
        "{:?}",
        arguments(&world, 2)
    );
}

#[test]
fn blessing_twice_changes_nothing() {
    let world = stock();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    world.verb("bless", &commit).verdict.unwrap();
    let before = (world.disk(), world.menu());
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!((world.disk(), world.menu()), before);
}

#[test]
fn what_is_the_default_already_is_no_trial_once_it_is_blessed() {
    let world = stock();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let sysroot = format!("--sysroot={}", world.root().display());
    set_bootloader(&world, "none");
    world.ostree(&["admin", "undeploy", &sysroot, "0"]);
    set_bootloader(&world, "grub2");
    assert_eq!(world.order(), [commit.as_str()]);
    assert!(is_trial(&arguments(&world, 2)));
    world.verb("bless", &commit).verdict.unwrap();
    assert!(
        is_plain(&arguments(&world, 2)),
        "{:?}",
        arguments(&world, 2)
    );
}

#[test]
fn the_next_upgrade_adds_each_argument_once() {
    let world = stock();
    for version in 2..=3 {
        let commit = world.fetched(&Image::new(version));
        world.verb("deploy", &commit).deployed();
        assert!(is_trial(&arguments(&world, version)));
        world.verb("bless", &commit).verdict.unwrap();
        assert!(is_plain(&arguments(&world, version)));
    }
}

#[test]
fn deployment_for_another_generator_is_deployed_again() {
    let mut world = stock();
    let commit = world.fetched(&Image::new(2));
    let other = world
        .generator
        .replace(generator(&world, "careen-grub", &mkconfig(&world)));
    let ours = world.verb("deploy", &commit).deployed();
    assert!(
        is_plain(&arguments(&world, 2)),
        "{:?}",
        arguments(&world, 2)
    );
    assert!(is_unfit(&armed(&world, &ours)));
    world.generator = other;
    let made = world.verb("deploy", &commit).deployed();
    assert_eq!((ours.serial, made.serial), (0, 1));
    assert!(is_trial(&arguments(&world, 2)));
}

#[test]
fn a_saved_default_that_would_be_the_new_system_is_refused() {
    let world = stock();
    let saved = header().replace("set default=\"0\"", "set default=\"${saved_entry}\"");
    fs::write(world.path("header"), saved).unwrap();
    let commit = world.fetched(&Image::new(2));
    let made = world.verb("deploy", &commit).deployed();
    assert_eq!(armed(&world, &made).unwrap(), 1);
    save(&world, "saved_entry=1\n");
    assert!(is_unfit(&armed(&world, &made)));
}
