//! Tests with GRUB's own tool and a real file system; they need root.

#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::freeze;
use host::loader::{self, Aim};
use tempfile::TempDir;
use upgrade::OneShot;

use disk::{Disk, deployment};

fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn grubs_own_tool_and_careen_read_each_others_block() {
    let all = ['a', 'b', 'c'].map(|letter| deployment(letter, 0));
    let disk = Disk::new(&all);
    let path = disk.places.grubenv();
    let name = path.to_str().unwrap();
    let created = run("grub-editenv", &[name, "create"]);
    assert!(
        created.is_some(),
        "no grub-editenv: `make setup` installs it"
    );
    run(
        "grub-editenv",
        &[name, "set", "saved_entry=a b\\c", "boot_success=1"],
    )
    .unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(disk.arm(&all[2]).unwrap(), 2);
    let list = run("grub-editenv", &[name, "list"]).unwrap();
    assert!(
        list.contains("next_entry=2\n") && list.contains("saved_entry=a b\\c\n"),
        "{list}"
    );
    run("grub-editenv", &[name, "set", "next_entry=3"]).unwrap();
    assert_eq!(loader::one_shot(&disk.places), OneShot::Set);
    loader::aim(&disk.places, Aim::Default).unwrap();
    assert!(fs::read(&path).unwrap() == before, "its own remark is gone");
}

/// One at a time: the child that guards a freeze keeps the files of the other tests open.
static TURN: Mutex<()> = Mutex::new(());

/// A small mounted ext4.
struct Mounted {
    _turn: MutexGuard<'static, ()>,
    folder: TempDir,
}

impl Mounted {
    fn new() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("not root");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mounted = Self { _turn, folder };
        let (image, root) = (mounted.image(), mounted.root());
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        fs::create_dir(&root).unwrap();
        run("mkfs.ext4", &["-q", image.to_str().unwrap()])?;
        run(
            "mount",
            &[
                "-o",
                "loop",
                image.to_str().unwrap(),
                root.to_str().unwrap(),
            ],
        )?;
        Some(mounted)
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// What the boot loader sees: the blocks without the journal.
    fn raw(&self, file: &str) -> String {
        run("sync", &["-f", self.image().to_str().unwrap()]);
        run(
            "debugfs",
            &[
                "-R",
                &format!("cat /{file}"),
                self.image().to_str().unwrap(),
            ],
        )
        .unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = freeze::thaw(&self.root());
        run("umount", &[self.root().to_str().unwrap()]);
    }
}

fn can_write(folder: &Path) {
    fs::write(folder.join("again"), "x").unwrap();
    fs::File::open(folder).unwrap().sync_all().unwrap();
}

#[test]
fn checkpoint_flushes_file_blocks_and_keeps_the_mount_writable() {
    let Some(mounted) = Mounted::new() else {
        return;
    };
    fs::write(mounted.root().join("new"), "what was written").unwrap();
    freeze::checkpoint(&mounted.root()).unwrap();
    assert_eq!(mounted.raw("new"), "what was written");
    can_write(&mounted.root());
}

#[test]
fn what_a_crash_left_frozen_is_thawed() {
    let Some(mounted) = Mounted::new() else {
        return;
    };
    freeze::thaw(&mounted.root()).unwrap();
    run("fsfreeze", &["-f", mounted.root().to_str().unwrap()]).unwrap();
    freeze::thaw(&mounted.root()).unwrap();
    can_write(&mounted.root());
}

#[test]
fn a_read_only_mount_is_writable_for_as_long_as_it_takes() {
    let Some(mounted) = Mounted::new() else {
        return;
    };
    let root = mounted.root();
    run("mount", &["-o", "remount,ro", root.to_str().unwrap()]).unwrap();
    {
        let _writable = host::mounts::Writable::make(&root).unwrap();
        can_write(&root);
    }
    assert!(fs::write(root.join("after"), "x").is_err());
}
