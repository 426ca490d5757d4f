//! Loaders that cannot clear a one-shot are refused by name.
#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use disk::{Disk, deployment, empty_block};
use host::file_system::FileSystem::{self, Ext, Vfat, Xfs};
use host::loader;
use host::loader::grub::fitness::check_on;
use nix::sys::stat::{major, minor};
use upgrade::Reason;

/// What /sys shows for the device of the test's folder.
fn kernel(disk: &Disk, mark: Option<&str>) -> tempfile::TempDir {
    let kernel = tempfile::tempdir().unwrap();
    let device = fs::metadata(disk.places.grubenv()).unwrap().dev();
    let node = kernel.path().join("sys/devices/sda2");
    fs::create_dir_all(&node).unwrap();
    if let Some(mark) = mark {
        fs::create_dir(node.join(mark)).unwrap();
    }
    let block = kernel.path().join("sys/dev/block");
    fs::create_dir_all(&block).unwrap();
    symlink(
        "../../devices/sda2",
        block.join(format!("{}:{}", major(device), minor(device))),
    )
    .unwrap();
    kernel
}

const BTRFS: FileSystem = FileSystem::Other(0x9123_683E);

/// The test folder may be on any file system.
fn fitness_on(disk: &Disk, kernel: &Path, found: FileSystem) -> Result<(), Reason> {
    check_on(&disk.places, kernel, |_| Ok(found))
}

fn detail(disk: &Disk, kernel: &Path) -> String {
    detail_on(disk, kernel, Ext)
}

fn detail_on(disk: &Disk, kernel: &Path, found: FileSystem) -> String {
    match fitness_on(disk, kernel, found) {
        Err(Reason::LoaderUnfit { detail }) => detail,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plain_file_on_a_partition_is_fit() {
    let disk = Disk::new(&[deployment('a', 0)]);
    for found in [Ext, Xfs, Vfat] {
        let fitness = fitness_on(&disk, kernel(&disk, None).path(), found);
        assert_eq!(fitness, Ok(()), "{found:?}");
    }
}

/// GRUB reads btrfs but does not write it; a file on btrfs may be compressed or shared.
#[test]
fn file_system_grub_cannot_write_is_refused_by_magic_number() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let text = detail_on(&disk, kernel(&disk, None).path(), BTRFS);
    let named = text.contains("0x9123683e") && text.contains("accepted are ext4, xfs and vfat");
    assert!(named, "{text}");
}

#[test]
fn the_file_system_is_asked_of_the_kernel() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let kernel = kernel(&disk, None);
    let found = FileSystem::of(&disk.places.grubenv()).unwrap();
    let told = fitness_on(&disk, kernel.path(), found);
    assert_eq!(loader::fitness(&disk.places, kernel.path()), told);
}

#[test]
fn a_volume_is_refused_by_name() {
    let disk = Disk::new(&[deployment('a', 0)]);
    for (mark, name) in [("dm", "LVM"), ("md", "RAID"), ("loop", "loop device")] {
        let text = detail(&disk, kernel(&disk, Some(mark)).path());
        assert!(
            text.contains(name) && text.contains("accepted is a partition"),
            "{text}"
        );
    }
}

#[test]
fn a_partition_of_a_raid_is_refused_as_the_raid_is() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let kernel = kernel(&disk, None);
    let devices = kernel.path().join("sys/devices");
    let (partition, raid) = (devices.join("sda2"), devices.join("md126"));
    fs::create_dir_all(raid.join("md126p1/partition")).unwrap();
    fs::remove_dir(&partition).unwrap();
    symlink("md126/md126p1", partition).unwrap();
    assert_eq!(fitness_on(&disk, kernel.path(), Ext), Ok(()), "of a disk");
    fs::create_dir(raid.join("md")).unwrap();
    let text = detail(&disk, kernel.path());
    assert!(text.contains("md126p1") && text.contains("RAID"), "{text}");
}

#[test]
fn ext4_in_data_journal_mode_is_refused_by_its_proc_options() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let kernel = kernel(&disk, None);
    let folder = kernel.path().join("proc/fs/ext4/sda2");
    fs::create_dir_all(&folder).unwrap();
    let options = |data: &str| fs::write(folder.join("options"), format!("rw\n{data}\ncommit=5\n"));
    options("data=ordered").unwrap();
    assert_eq!(fitness_on(&disk, kernel.path(), Ext), Ok(()));
    options("data=journal").unwrap();
    assert!(detail(&disk, kernel.path()).contains("data=journal"));
}

#[test]
fn ext4_with_data_journal_is_refused() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let kernel = kernel(&disk, None);
    let device = fs::metadata(disk.places.grubenv()).unwrap().dev();
    let proc = kernel.path().join("proc/self");
    fs::create_dir_all(&proc).unwrap();
    let line = format!(
        "36 35 {}:{} / / rw - ext4 /dev/sda2 rw,data=journal\n",
        major(device),
        minor(device)
    );
    fs::write(proc.join("mountinfo"), line).unwrap();
    assert!(detail(&disk, kernel.path()).contains("data=journal"));
}

#[test]
fn every_damaged_block_is_refused() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let kernel = kernel(&disk, None);
    let path = disk.places.grubenv();
    for bad in [
        vec![],
        b"short".to_vec(),
        vec![0; 1024],
        [empty_block(), empty_block()].concat(),
    ] {
        fs::write(&path, bad).unwrap();
        assert!(detail(&disk, kernel.path()).contains("1024"));
    }
    fs::remove_file(&path).unwrap();
    assert!(detail(&disk, kernel.path()).contains("grubenv"));
    symlink("elsewhere", &path).unwrap();
    assert!(detail(&disk, kernel.path()).contains("not a plain file"));
}

#[test]
fn a_configuration_that_ignores_the_one_shot_is_refused() {
    let disk = Disk::new(&[deployment('a', 0)]);
    fs::write(
        disk.places.boot.join("loader.1/grub.cfg"),
        "set default=0\n",
    )
    .unwrap();
    assert!(detail(&disk, kernel(&disk, None).path()).contains("next_entry"));
}

#[test]
fn a_configuration_behind_a_chain_is_followed() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let first = disk.places.boot.join("grub/grub.cfg");
    fs::remove_file(&first).unwrap();
    for line in [
        "configfile /boot/loader/grub.cfg",
        "configfile ($root)/loader/grub.cfg",
    ] {
        fs::write(&first, line).unwrap();
        let fitness = fitness_on(&disk, kernel(&disk, None).path(), Ext);
        assert_eq!(fitness, Ok(()), "{line}");
    }
}
