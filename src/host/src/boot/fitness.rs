//! Whether this node's loader can boot an entry just once. Asked before anything is touched: a loader that cannot clear
//! its one-shot would boot a bad trial for ever.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};
use nix::sys::statfs::statfs;
use upgrade::Reason;

use super::installed::deployments;
use super::menu;
use super::script::Script;
use crate::{Places, grubenv};

// linux/magic.h; nix knows them only for some C libraries.
const EXT: i64 = 0xEF53;
const XFS: i64 = 0x5846_5342;
const VFAT: i64 = 0x4D44;

const DATA_JOURNAL: &str = "data=journal";

/// Checks grubenv, the file system and the device it lies on, and GRUB's configuration. `kernel` is the folder that holds
/// `sys` and `proc`: `/` on a node.
///
/// # Errors
/// [`Reason::LoaderUnfit`], naming what is wrong and what is accepted.
pub fn loader_fitness(places: &Places, kernel: &Path) -> Result<(), Reason> {
    loader_fitness_on(places, kernel, magic)
}

/// As [`loader_fitness`], told by whoever asks which file system a file lies on, by its number in linux/magic.h.
///
/// # Errors
/// As [`loader_fitness`].
pub fn loader_fitness_on(
    places: &Places,
    kernel: &Path,
    magic: impl Fn(&Path) -> Result<i64, String>,
) -> Result<(), Reason> {
    let unfit = |detail: String| Reason::LoaderUnfit { detail };
    let path = places.grubenv();
    check_block(&path).map_err(unfit)?;
    let found = magic(&path).map_err(unfit)?;
    check_file_system(&path, kernel, found).map_err(unfit)?;
    check_device(&path, kernel).map_err(unfit)?;
    let configuration = menu::configuration(places).map_err(|error| unfit(error.to_string()))?;
    let script = Script::read(&configuration);
    if !script.honours_one_shot() {
        return Err(unfit(format!(
            "the grub.cfg in {} does not take, empty and save next_entry; accepted are those by careen-grub and grub-mkconfig",
            places.grub().display()
        )));
    }
    let installed = deployments(places, &places.boot.join("loader"))
        .map_err(|error| unfit(error.to_string()))?;
    menu::check_default(&script, &installed, places).map_err(unfit)
}

fn check_block(path: &Path) -> Result<(), String> {
    let accepted = "accepted is a plain file of 1024 bytes, as grub-editenv creates it";
    let meta = fs::symlink_metadata(path)
        .map_err(|error| format!("{}: {error}; {accepted}", path.display()))?;
    if !meta.file_type().is_file() {
        return Err(format!("{} is no plain file; {accepted}", path.display()));
    }
    grubenv::read(path).map_err(|error| format!("{error}; {accepted}"))?;
    if !has_blocks(meta.len(), meta.blocks()) {
        return Err(format!(
            "{} has no blocks of its own on the disk; write it anew",
            path.display()
        ));
    }
    Ok(())
}

/// Whether all content lies in blocks of the file's own, `sectors` of 512 bytes: GRUB writes no others. A large inode of ext4
/// holds the whole file itself (inline_data).
const fn has_blocks(length: u64, sectors: u64) -> bool {
    sectors * 512 >= length
}

fn magic(path: &Path) -> Result<i64, String> {
    let found = statfs(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(found.filesystem_type().0)
}

fn check_file_system(path: &Path, kernel: &Path, found: i64) -> Result<(), String> {
    match found {
        XFS | VFAT => Ok(()),
        EXT if has_data_journal(path, kernel) => {
            Err("/boot is ext4 with data=journal, past which GRUB writes; accepted is any other data mode".to_owned())
        }
        EXT => Ok(()),
        other => Err(format!(
            "the file system of {} (type 0x{other:x}) cannot be written by GRUB; accepted are ext4, xfs and vfat",
            path.display()
        )),
    }
}

/// Asked of the mount and of ext4 itself: what is a default of this file system (`tune2fs -o journal_data`), a mount does not tell (fs/ext4/super.c,
/// `_ext4_show_options`).
fn has_data_journal(path: &Path, kernel: &Path) -> bool {
    device_of(path).is_ok_and(|device| {
        is_mounted_with_data_journal(device, kernel) || is_data_journal_in_force(device, kernel)
    })
}

/// All options in force, one a line, below the device's name. Where the kernel has no such file, the mount alone is known.
fn is_data_journal_in_force(device: (u64, u64), kernel: &Path) -> bool {
    let options = |node: PathBuf| {
        kernel
            .join("proc/fs/ext4")
            .join(name(&node))
            .join("options")
    };
    let options = node(device, kernel).and_then(|node| fs::read_to_string(options(node)));
    options.is_ok_and(|options| options.lines().any(|option| option == DATA_JOURNAL))
}

/// The mount of this device is searched in mountinfo, where the mount options of the file system stand last.
fn is_mounted_with_data_journal((major, minor): (u64, u64), kernel: &Path) -> bool {
    let bytes = fs::read(kernel.join("proc/self/mountinfo")).unwrap_or_default();
    // Somebody's mount point may be of any bytes.
    let text = String::from_utf8_lossy(&bytes);
    let device = format!("{major}:{minor}");
    let mut mounts = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    mounts.any(|words| {
        words.get(2) == Some(&device.as_str())
            && words
                .last()
                .is_some_and(|options| options.split(',').any(|option| option == DATA_JOURNAL))
    })
}

fn device_of(path: &Path) -> Result<(u64, u64), String> {
    let meta = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((major(meta.dev()), minor(meta.dev())))
}

/// The folder in which /sys tells of a block device.
fn node((major, minor): (u64, u64), kernel: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(kernel.join(format!("sys/dev/block/{major}:{minor}")))
}

fn name(node: &Path) -> String {
    let name = node.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// GRUB's disk writes go to a disk or a partition. What the kernel puts between (device mapper, md, loop) it cannot write,
/// or reads as something else.
fn check_device(path: &Path, kernel: &Path) -> Result<(), String> {
    let (major, minor) = device_of(path)?;
    let node = node((major, minor), kernel).map_err(|_| {
        format!(
            "{} does not lie on a block device ({major}:{minor}); accepted is a partition",
            path.display()
        )
    })?;
    match between(&node) {
        Some(kind) => Err(format!(
            "/boot lies on {}, {kind}, which GRUB cannot write; accepted is a partition of a disk",
            name(&node)
        )),
        None => Ok(()),
    }
}

/// What the kernel puts between. A partition of such a device (md0p1, md126p1) has its folder in the device's, which alone bears the mark.
fn between(node: &Path) -> Option<&'static str> {
    let kinds = [
        ("a device-mapper volume (LVM, LUKS, multipath)", "dm"),
        ("a software RAID (md)", "md"),
        ("a loop device", "loop"),
    ];
    let device = node.parent().filter(|_| node.join("partition").exists());
    let has = |mark: &str| {
        [Some(node), device]
            .iter()
            .flatten()
            .any(|node| node.join(mark).exists())
    };
    kinds
        .into_iter()
        .find(|(_, mark)| has(mark))
        .map(|(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lies_in_its_inode_has_no_blocks_for_grub_to_write() {
        assert!(!has_blocks(1024, 0));
        assert!(!has_blocks(1024, 1), "half of it");
        assert!(has_blocks(1024, 2) && has_blocks(1024, 8));
    }
}
