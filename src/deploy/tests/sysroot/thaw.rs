use std::fs;
use std::path::Path;
use std::process::Command;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use crate::run::succeed;

const BOOT: &str = "/boot";

struct Mounted;

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").args(["--unfreeze", BOOT]).output();
        umount2(BOOT, MntFlags::MNT_DETACH).unwrap();
        umount2("/run", MntFlags::MNT_DETACH).unwrap();
    }
}

/// A file system of its own on /boot, and a /run where no run has left its mark, seen by this
/// test's thread alone.
fn boot(folder: &Path) -> Mounted {
    let none = None::<&str>;
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
    let tmpfs = Some("tmpfs");
    mount(tmpfs, "/run", tmpfs, MsFlags::empty(), none).unwrap();
    let image = folder.join("boot.ext4");
    fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
    succeed(Command::new("mkfs.ext4").arg("-q").arg(&image));
    succeed(
        Command::new("mount")
            .args(["-o", "loop"])
            .arg(&image)
            .arg(BOOT),
    );
    Mounted
}

fn thaw() {
    succeed(Command::new(env!("CARGO_BIN_EXE_careen-deploy")).arg("thaw"));
}

fn killed_while_it_swaps() {
    std::mem::forget(host::freeze::Mark::leave(Path::new("/")).unwrap());
}

#[test]
fn a_boot_that_somebody_else_has_frozen_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let _boot = boot(folder.path());
    succeed(Command::new("fsfreeze").args(["--freeze", BOOT]));
    thaw();
    // Also after a run of ours that has ended: its mark went with it.
    drop(host::freeze::Mark::leave(Path::new("/")).unwrap());
    thaw();
    succeed(Command::new("fsfreeze").args(["--unfreeze", BOOT]));
}

#[test]
fn a_boot_left_frozen_by_a_killed_run_is_thawed() {
    let folder = tempfile::tempdir().unwrap();
    let _boot = boot(folder.path());
    killed_while_it_swaps();
    succeed(Command::new("fsfreeze").args(["--freeze", BOOT]));
    thaw();
    let again = Command::new("fsfreeze")
        .args(["--unfreeze", BOOT])
        .output()
        .unwrap();
    assert!(!again.status.success(), "it was still frozen");
    fs::write(Path::new(BOOT).join("probe"), "written").unwrap();
}

#[test]
fn thawing_what_is_not_frozen_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let _boot = boot(folder.path());
    thaw();
    fs::write(Path::new(BOOT).join("probe"), "written").unwrap();
}
