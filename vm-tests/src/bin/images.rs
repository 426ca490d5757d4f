//! `images`: builds images and disks of the rig by name and prints them. Without a name it lists
//! them.

use anyhow::Result;
use rig::images::{DiskKind, ensure_commit, ensure_disk, names};

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.is_empty() {
        names().for_each(|name| println!("{name}"));
        println!("disk-bios\ndisk-uefi\ndisk-lvm");
    }
    for name in &wanted {
        match name.as_str() {
            "disk-bios" => println!("{}", ensure_disk(DiskKind::Bios)?.display()),
            "disk-uefi" => println!("{}", ensure_disk(DiskKind::Uefi)?.display()),
            "disk-lvm" => println!("{}", ensure_disk(DiskKind::LvmBoot)?.display()),
            image => println!("{}", ensure_commit(image)?.pinned()),
        }
    }
    Ok(())
}
