//! A second name for `/boot/loader` while libostree renames a new link over it.
//!
//! The rename frees the old link's inode. Its blocks and the folder's go to the disk in no order, and GRUB replays no
//! journal: after a power cut between the two it follows the old name to an inode that is empty, finds no menu and waits
//! for a person. An inode with a second name is not freed, so GRUB finds the old link or the new one.

use std::fs;
use std::path::{Path, PathBuf};

fn name(boot: &Path) -> PathBuf {
    boot.join(".careen-loader")
}

/// Gives the link its second name. libostree's freeze before the swap takes it to the disk.
///
/// # Errors
/// When it has none.
pub fn make(boot: &Path) -> host::Result<()> {
    clear(boot)?;
    let loader = boot.join("loader");
    if loader.is_symlink() {
        host::durable::link(&loader, &name(boot))
    } else {
        // vfat knows no links: libostree swaps otherwise there.
        Ok(())
    }
}

/// Takes the second name off once the new link is on GRUB's blocks.
///
/// # Errors
/// When it is still there.
pub fn remove(boot: &Path) -> host::Result<()> {
    host::durable::remove(&name(boot))
}

/// Takes off the one that a killed run has left. Whether GRUB sees that run's swap is not known before it is made sure.
///
/// # Errors
/// As above.
pub fn clear(boot: &Path) -> host::Result<()> {
    if fs::symlink_metadata(name(boot)).is_err() {
        return Ok(());
    }
    host::freeze::checkpoint(boot)?;
    remove(boot)
}
