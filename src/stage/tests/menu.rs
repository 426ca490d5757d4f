//! grub.cfg is the same for the same entries, byte by byte. To take a change over: `UPDATE_GOLDEN=1
//! cargo test`.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../host/tests/disk/mod.rs"]
mod disk;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use disk::{Disk, deployment};
use upgrade::Deployment;

fn write(output: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_careen-grub"))
        .arg("-o")
        .arg(output)
        .output()
        .unwrap()
}

fn golden(name: &str, found: &str) {
    let path = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(&path).unwrap(), "{name}");
}

fn rendered(disk: &Disk) -> String {
    let output = disk.places.boot.join("loader.1/grub.cfg");
    assert!(write(&output).status.success());
    fs::read_to_string(output).unwrap()
}

#[test]
fn old_kept_and_new() {
    let kept = Deployment {
        pinned: true,
        ..deployment('b', 0)
    };
    let disk = Disk::new(&[deployment('a', 0), kept, deployment('c', 0)]);
    golden("three.cfg", &rendered(&disk));
}

#[test]
fn one_alone_on_a_boot_of_its_own() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let entry = disk
        .places
        .boot
        .join("loader.1/entries/ostree-1-debian.conf");
    let text = fs::read_to_string(&entry)
        .unwrap()
        .replace(" /boot/ostree", " /ostree");
    fs::write(
        &entry,
        text.replace(
            "console=ttyS0",
            "console=tty0 console=ttyS1,9600n8 a=$(b);c",
        ),
    )
    .unwrap();
    golden("alone.cfg", &rendered(&disk));
}

#[test]
fn generator_finds_efi_entries_by_the_ostree_bootversion() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let output = disk.places.boot.join("efi/EFI/debian/grub.cfg.new");
    fs::create_dir_all(output.parent().unwrap()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-grub"));
    let ended = command
        .arg("-o")
        .arg(&output)
        .env("_OSTREE_GRUB2_BOOTVERSION", "1")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(fs::read_to_string(output).unwrap(), rendered(&disk));
}

#[test]
fn what_it_writes_is_fit_for_a_one_shot() {
    let disk = Disk::new(&[deployment('a', 0), deployment('b', 0)]);
    rendered(&disk);
    assert_eq!(disk.arm(&deployment('b', 0)).unwrap(), 1);
}

/// Replaces a word in the first entry by bytes that are no UTF-8.
fn with_other_letters(disk: &Disk, word: &str) {
    let entry = disk
        .places
        .boot
        .join("loader.1/entries/ostree-1-debian.conf");
    let text = fs::read_to_string(&entry).unwrap();
    let (before, after) = text.split_once(word).unwrap();
    let bytes = [before.as_bytes(), b"Gr\xf6sse", after.as_bytes()].concat();
    fs::write(entry, bytes).unwrap();
}

#[test]
fn a_title_of_any_bytes_is_shown_with_a_gap_and_stops_nobody() {
    let all = [deployment('a', 0), deployment('b', 0)];
    let disk = Disk::new(&all);
    with_other_letters(&disk, "Debian");
    assert_eq!(host::boot::default_first(&disk.places).unwrap(), all);
    assert!(rendered(&disk).contains("Gr\u{fffd}sse"));
    assert_eq!(disk.arm(&deployment('b', 0)).unwrap(), 1);
}

#[test]
fn kernel_arguments_that_are_no_text_are_not_written_as_others() {
    let all = [deployment('a', 0)];
    let disk = Disk::new(&all);
    with_other_letters(&disk, "console=ttyS0");
    assert_eq!(host::boot::default_first(&disk.places).unwrap(), all);
    let output = disk.places.boot.join("loader.1/grub.cfg");
    let before = fs::read(&output).unwrap();
    let ended = write(&output);
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("options of entry"));
    assert_eq!(fs::read(&output).unwrap(), before);
}

#[test]
fn a_damaged_entry_leaves_grub_cfg_as_it_was() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let output = disk.places.boot.join("loader.1/grub.cfg");
    let before = fs::read(&output).unwrap();
    fs::write(
        disk.places
            .boot
            .join("loader.1/entries/ostree-1-debian.conf"),
        "version 1\n",
    )
    .unwrap();
    let ended = write(&output);
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("ostree-1-debian.conf"));
    assert_eq!(fs::read(&output).unwrap(), before);
}
