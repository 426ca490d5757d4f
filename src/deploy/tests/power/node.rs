//! The node's two file systems on disks of the shelf.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use crate::disk::Disk;
use crate::run::succeed;
use crate::shelf::{Number, Shelf};

/// Only what is written takes memory.
const ROOT_BYTES: usize = 192 << 20;
const BOOT_BYTES: usize = 24 << 20;

/// Mounts of this thread from here on are seen by it and its children alone, and end with them.
pub fn keep_mounts_private() {
    let none = None::<&str>;
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
}

/// Two empty file systems as an installer makes them: the root's and that of /boot.
pub fn formatted(shelf: &Shelf) -> [Number; 2] {
    [ROOT_BYTES, BOOT_BYTES].map(|bytes| {
        let number = shelf.lend(Disk::blank(bytes), None);
        let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        let mut mkfs = Command::new("mkfs.ext4");
        mkfs.args(["-q", "-F", "-b", "4096", "-J", "size=4", "-E", options]);
        succeed(mkfs.arg(shelf.path(number)));
        number
    })
}

/// Both file systems, mounted.
pub struct Node(PathBuf);

impl Node {
    /// Mounts them as the kernel does after a power cut: the journals are replayed.
    pub fn start(shelf: &Shelf, root: &Path, disks: [Number; 2]) -> Result<Self, String> {
        std::fs::create_dir_all(root).unwrap();
        attach(&shelf.path(disks[0]), root)?;
        let node = Self(root.to_owned());
        std::fs::create_dir_all(root.join("boot")).map_err(|error| error.to_string())?;
        attach(&shelf.path(disks[1]), &root.join("boot"))?;
        Ok(node)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        for place in [self.0.join("boot"), self.0.clone()] {
            if umount2(&place, MntFlags::empty()).is_err() {
                // Only this thread sees it, so it is gone with the last program that is in it.
                let _ = umount2(&place, MntFlags::MNT_DETACH);
            }
        }
    }
}

fn attach(disk: &Path, place: &Path) -> Result<(), String> {
    let mut command = Command::new("mount");
    command
        // By itself the kernel flushes nothing within the quarter of an hour: a slow run would be
        // safer than a fast one.
        .args(["-t", "ext4", "-o", "loop,commit=900"])
        .arg(disk)
        .arg(place);
    let output = command.output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "not mounted at {}: {}",
        place.display(),
        String::from_utf8_lossy(&output.stderr)
    ))
}
