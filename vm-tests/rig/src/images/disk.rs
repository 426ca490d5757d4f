//! Disks with image `v1` installed, as an installer would leave them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use testkit::cache::{Key, built};
use testkit::script::{beside, script, step};

use super::base::Base;
use super::commit::Commit;
use super::{ours, repository};
use testkit::debian::root;

/// The layout and boot method of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskKind {
    /// GPT, GRUB in a BIOS boot partition, /boot on ext4, root on ext4 with fs-verity.
    Bios,
    /// The same with GRUB on an EFI system partition, whose configuration only names the one in
    /// /boot.
    Uefi,
    /// BIOS, with /boot on an LVM volume: GRUB boots from it but cannot write there.
    LvmBoot,
    /// BIOS, with a root file system without fs-verity. The stage must read what the kernel cannot
    /// verify.
    NoVerity,
}

/// The disk's repository contains the base of nearly all images from the start, under a ref of the
/// rig's own. Most scenarios are about what follows the fetch, and the fetch takes half of an
/// emulated staging. See [`crate::Rig::forget_base`].
const LAID_READY: Base = Base::Second;

impl DiskKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Bios => "bios",
            Self::Uefi => "uefi",
            Self::LvmBoot => "lvm",
            Self::NoVerity => "no-verity",
        }
    }
}

/// The disk, made on first use.
///
/// # Errors
///
/// Fails when a step fails.
pub fn ensure(kind: DiskKind, first: &Commit) -> Result<PathBuf> {
    let root = root()?;
    let grub = ours::programs()?.join("careen-grub");
    let ready = repository::base(LAID_READY)?;
    let mut key = Key::default()
        .text(kind.name())
        .text(&first.digest)
        .text(&ready)
        .built(&root)
        .files(&grub)?;
    for part in [
        "disk.sh",
        "disk-system.sh",
        "disk-bios.sh",
        "disk-uefi.sh",
        "disk-lvm.sh",
    ] {
        key = key.files(&beside(part))?;
    }
    let name = format!("disk-{}", kind.name());
    built(&name, &key, |out| {
        let repo = repository::path()?;
        let arguments: [&Path; 7] = [
            kind.name().as_ref(),
            &repo,
            first.reference.as_ref(),
            ready.as_ref(),
            &root,
            &grub,
            out,
        ];
        step(&name, || script("disk.sh", &arguments))
    })
}
