//! A second name for `/boot/loader` while libostree renames a new link over it.
//!
//! The rename frees the old link's inode. The inode's blocks and the folder's go to the disk in no
//! order, and GRUB replays no journal. After a power cut between the two, GRUB follows the old name
//! to an empty inode, finds no menu and waits for a person. An inode with a second name is not
//! freed, so GRUB finds the old link or the new one.

use std::fs;
use std::path::{Path, PathBuf};

fn name(boot: &Path) -> PathBuf {
    boot.join(".careen-loader")
}

/// Gives the link its second name. libostree's freeze before the swap writes it to the disk.
///
/// # Errors
/// The link has no second name.
pub fn make(boot: &Path) -> host::Result<()> {
    clear(boot)?;
    let loader = boot.join("loader");
    if loader.is_symlink() {
        host::durable::link(&loader, &name(boot))
    } else {
        // vfat has no links. libostree swaps in another way there.
        Ok(())
    }
}

/// Removes the second name once the new link is on the blocks that GRUB reads.
///
/// # Errors
/// It is still there.
pub fn remove(boot: &Path) -> host::Result<()> {
    host::durable::remove(&name(boot))
}

/// Removes the name that a killed run has left. Before that, makes sure that GRUB sees that run's
/// swap.
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
