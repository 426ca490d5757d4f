//! A node that runs: a root made of the deployment's own folder, with /sysroot and /boot read-only,
//! as ostree-prepare-root makes it. The host lends its /usr, so that programs run there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use upgrade::Reason;
use upgrade::id::Digest;

use crate::image::Image;
use crate::run::{Answer, succeed};
use crate::world::{World, fetching, world};

const NONE: Option<&str> = None;
const PROGRAM: &str = "tmp/careen-deploy";

pub struct Running {
    pub world: World,
    pub live: PathBuf,
}

/// Boots the installed deployment, as far as libostree can tell. Seen by this test's thread alone.
pub fn running() -> Running {
    let world = world();
    let live = world.path("live");
    fs::create_dir(&live).unwrap();
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).unwrap();
    let running = Running { world, live };
    let deployment = running.world.deployment(&running.world.installed, 0);
    let root = running.world.root();
    running.bind(&deployment, "");
    running.bind(&root, "sysroot");
    running.bind(&root.join("boot"), "boot");
    for folder in ["usr", "proc", "dev"] {
        running.bind(&PathBuf::from("/").join(folder), folder);
    }
    for place in ["sysroot", "boot"] {
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        mount(NONE, &running.live.join(place), NONE, flags, NONE).unwrap();
    }
    fs::create_dir_all(running.live.join("var/tmp")).unwrap();
    fs::write(running.live.join("run/ostree-booted"), "").unwrap();
    fs::write(running.live.join(PROGRAM), "").unwrap();
    running.bind(&PathBuf::from(env!("CARGO_BIN_EXE_careen-deploy")), PROGRAM);
    running
}

impl Running {
    pub fn bind(&self, from: &PathBuf, below: &str) {
        mount(
            Some(from),
            &self.live.join(below),
            NONE,
            MsFlags::MS_BIND,
            NONE,
        )
        .unwrap();
    }

    pub fn run(&self, arguments: &[&str]) -> Answer {
        let mut command = Command::new("chroot");
        command
            .arg(&self.live)
            .arg(format!("/{PROGRAM}"))
            .args(arguments);
        Answer::of(
            &command
                .env("OSTREE_SYSROOT_DEBUG", "mutable-deployments")
                .env("OSTREE_GRUB2_EXEC", "/tmp/generator")
                .output()
                .unwrap(),
        )
    }

    pub fn deployed(&self, image: &Image) -> Digest {
        let commit = self
            .world
            .publish(image, Some(&crate::keys::keys().trusted));
        self.run(&fetching(&commit)).fetched();
        self.run(&["verify", "--commit", commit.as_str()])
            .verified();
        self.run(&["deploy", "--commit", commit.as_str()])
            .deployed();
        commit
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        while umount2(&self.live.join(PROGRAM), MntFlags::MNT_DETACH).is_ok() {}
        umount2(&self.live, MntFlags::MNT_DETACH).unwrap();
    }
}

#[test]
fn a_running_node_is_upgraded_though_its_sysroot_is_read_only() {
    let node = running();
    let first = node.world.installed.clone();
    fs::write(node.live.join("etc/hosts"), "changed on the running node").unwrap();
    let commit = node.deployed(&Image::new(2));
    assert_eq!(node.world.order(), [first.as_str(), commit.as_str()]);
    let merged = node.world.deployment(&commit, 0).join("etc/hosts");
    assert_eq!(
        fs::read_to_string(merged).unwrap(),
        "changed on the running node"
    );
    assert!(
        node.world
            .root()
            .join(format!("ostree/careen/manifest-{commit}.json"))
            .exists()
    );
}

#[test]
fn the_read_only_mounts_of_the_node_stay_read_only() {
    let node = running();
    node.deployed(&Image::new(2));
    for place in ["sysroot", "boot"] {
        let written = fs::write(node.live.join(place).join("probe"), "x");
        assert_eq!(
            written.unwrap_err().kind(),
            std::io::ErrorKind::ReadOnlyFilesystem
        );
    }
}

#[test]
fn the_running_system_is_never_undone_or_cleaned_away() {
    let node = running();
    let first = node.world.installed.clone();
    let second = node.deployed(&Image::new(2));
    // As a person may: the other one is made the default while the first one still runs.
    node.run(&["bless", "--commit", second.as_str()])
        .verdict
        .unwrap();
    node.run(&["undo", "--commit", first.as_str()])
        .verdict
        .unwrap();
    node.run(&["clean"]).verdict.unwrap();
    assert_eq!(node.world.order(), [second.as_str(), first.as_str()]);
}

#[test]
fn bless_over_the_default_requires_the_system_to_be_running() {
    let node = running();
    let trial = node.deployed(&Image::new(2));
    let over = format!("{}.0", node.world.installed);
    let reason = node
        .run(&["bless", "--commit", trial.as_str(), "--over", &over])
        .reason();
    let booted = node.world.installed.short().to_owned();
    assert_eq!(reason, Reason::UnknownSystem { booted });
    assert_eq!(node.world.order()[0], node.world.installed.as_str());
}

#[test]
fn freezing_mark_exists_only_during_the_swap() {
    let node = running();
    let generator = node.live.join("tmp/generator");
    let script = "#!/bin/sh\ntest -e /run/careen/freezing && exec touch \"$2\"\n";
    fs::write(&generator, script).unwrap();
    fs::set_permissions(&generator, fs::Permissions::from_mode(0o755)).unwrap();
    let local = node.world.local();
    let loader = ["config", "set", "sysroot.bootloader", "grub2"];
    node.world
        .ostree(&[&[local.as_str()], &loader[..]].concat());
    fs::create_dir_all(node.world.root().join("boot/grub")).unwrap();
    let commit = node.deployed(&Image::new(2));
    assert_eq!(node.world.order()[1], commit.as_str());
    assert!(!node.live.join("run/careen/freezing").exists());
}

#[test]
fn a_boot_that_cannot_be_written_is_said_to_be_so() {
    let node = running();
    let commit = node.deployed(&Image::new(2));
    succeed(
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", "ro", "none"])
            .arg(node.live.join("boot")),
    );
    let reason = node
        .run(&["deploy", "--commit", commit.as_str(), "--again"])
        .reason();
    assert!(matches!(&reason, Reason::DeployFailed { .. }), "{reason}");
}
