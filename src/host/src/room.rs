//! Room on file systems.

use std::fs;
use std::path::Path;

use nix::sys::statvfs::statvfs;
use upgrade::Deployment;

use crate::Places;
use crate::error::{At, Result};

/// Free bytes on the file system of `path`, including those reserved for root: this code writes as
/// root.
///
/// # Errors
/// The system call failed.
pub fn free(path: &Path) -> Result<u64> {
    let stat = statvfs(path).at("asking for room on", path)?;
    Ok(stat.blocks_free().saturating_mul(stat.fragment_size()))
}

/// Free inodes on the file system of `path`. `None` where the file system makes them as needed or
/// has none, such as btrfs and vfat.
///
/// # Errors
/// The system call failed.
pub fn inodes(path: &Path) -> Result<Option<u64>> {
    let stat = statvfs(path).at("asking for inodes on", path)?;
    Ok((stat.files() > 0).then(|| stat.files_free()))
}

/// The size of a deployment's kernel, initramfs and device trees on /boot, in bytes.
///
/// # Errors
/// Its folder on /boot cannot be listed.
pub fn kernel(places: &Places, deployment: &Deployment) -> Result<u64> {
    let folder = places.kernel(deployment);
    let mut bytes = 0_u64;
    for file in fs::read_dir(&folder).at("listing", &folder)? {
        let file = file.at("listing", &folder)?;
        bytes = bytes.saturating_add(file.metadata().at("asking for", &file.path())?.len());
    }
    Ok(bytes)
}
