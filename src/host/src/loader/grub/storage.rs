//! Whether GRUB can write a file where it is stored: its file system, and the device below that.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};

use crate::file_system::FileSystem;

const DATA_JOURNAL: &str = "data=journal";

/// The file systems that GRUB writes. With data=journal the newest content may be in the journal.
pub(super) fn check_file_system(
    path: &Path,
    kernel: &Path,
    found: FileSystem,
) -> Result<(), String> {
    match found {
        FileSystem::Ext if has_data_journal(path, kernel) => Err(
            "/boot is ext4 with data=journal, which GRUB bypasses when it writes; accepted is any other data mode"
                .to_owned(),
        ),
        FileSystem::Ext | FileSystem::Xfs | FileSystem::Vfat => Ok(()),
        FileSystem::Other(other) => Err(format!(
            "GRUB cannot write the file system of {} (type 0x{other:x}); accepted are ext4, xfs and vfat",
            path.display()
        )),
    }
}

/// The mount and ext4 itself know. A mount does not show a default of the file system (`tune2fs -o
/// journal_data`; fs/ext4/super.c, `_ext4_show_options`).
fn has_data_journal(path: &Path, kernel: &Path) -> bool {
    device_of(path).is_ok_and(|device| {
        is_mounted_with_data_journal(device, kernel) || is_data_journal_in_force(device, kernel)
    })
}

/// The file has all options in force, one a line. Without it only the mount is known.
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

/// The last word of the mount's line in mountinfo has the options of the file system.
fn is_mounted_with_data_journal((major, minor): (u64, u64), kernel: &Path) -> bool {
    let bytes = fs::read(kernel.join("proc/self/mountinfo")).unwrap_or_default();
    // A mount point may have any bytes.
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

/// The folder of a block device in /sys.
fn node((major, minor): (u64, u64), kernel: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(kernel.join(format!("sys/dev/block/{major}:{minor}")))
}

fn name(node: &Path) -> String {
    let name = node.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// GRUB writes to a disk or a partition. It cannot write through what the kernel puts between
/// (device mapper, md, loop), or reads that as something else.
pub(super) fn check_device(path: &Path, kernel: &Path) -> Result<(), String> {
    let (major, minor) = device_of(path)?;
    let node = node((major, minor), kernel).map_err(|_| {
        format!(
            "{} is not on a block device ({major}:{minor}); accepted is a partition",
            path.display()
        )
    })?;
    match between(&node) {
        Some(kind) => Err(format!(
            "/boot is on {}, {kind}, which GRUB cannot write; accepted is a partition of a disk",
            name(&node)
        )),
        None => Ok(()),
    }
}

/// What the kernel puts between. The folder of a partition of such a device (md0p1, md126p1) is in
/// the folder of the device, and only that has the mark.
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
