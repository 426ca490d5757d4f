//! GRUB's environment block on the disk, which GRUB rewrites sector by sector and Careen in place.
//!
//! `grub-editenv` truncates the file and writes it again, so a power cut can leave it short. Careen
//! never changes the length, the inode or the blocks.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use upgrade::OneShot;

use super::block::Grubenv;
use crate::error::{At, Error, Result};

/// Reads the block.
///
/// # Errors
/// When it is missing or damaged.
pub fn read(path: &Path) -> Result<Grubenv> {
    let block = fs::read(path).at("reading", path)?;
    Grubenv::parse(&block).map_err(|detail| Error::damaged(path, detail))
}

/// Whether the block names an entry to boot once.
pub fn one_shot(path: &Path) -> OneShot {
    match read(path) {
        Ok(env) if env.next_entry().is_some() => OneShot::Set,
        Ok(_) => OneShot::Clear,
        Err(_) => OneShot::Unreadable,
    }
}

/// Sets or clears the one-shot in place and waits until it is on the disk.
///
/// # Errors
/// When it is not on the disk. A damaged block is not written.
pub fn write_next_entry(path: &Path, position: Option<usize>) -> Result<()> {
    let mut env = read(path)?;
    env.set_next_entry(position);
    let block = env
        .format()
        .map_err(|detail| Error::damaged(path, detail))?;
    let file = OpenOptions::new()
        .write(true)
        .open(path)
        .at("opening", path)?;
    // Even if the block has this content. Its writer may have died before it was on the disk, or
    // may have got an error, after which the kernel takes the content for written (fsync(2),
    // "EIO").
    file.write_all_at(&block, 0).at("writing", path)?;
    flush(&file, path)
}

/// On an error the kernel forgets the content, so that the next look shows what is on the disk.
fn flush(file: &File, path: &Path) -> Result<()> {
    let flushed = file.sync_all();
    if flushed.is_err() {
        let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
    flushed.at("syncing", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Vec<u8> {
        Grubenv::default().format().unwrap()
    }

    #[test]
    fn a_damaged_block_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grubenv");
        fs::write(&path, b"short").unwrap();
        assert!(write_next_entry(&path, Some(1)).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(one_shot(&path), OneShot::Unreadable);
    }

    #[test]
    fn a_block_that_seems_clear_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grubenv");
        fs::write(&path, empty()).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_modified(long_ago).unwrap();
        write_next_entry(&path, None).unwrap();
        assert_ne!(file.metadata().unwrap().modified().unwrap(), long_ago);
        assert_eq!(fs::read(&path).unwrap(), empty());
    }

    #[test]
    fn arming_writes_in_place() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grubenv");
        fs::write(&path, empty()).unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        write_next_entry(&path, Some(3)).unwrap();
        assert_eq!(one_shot(&path), OneShot::Set);
        write_next_entry(&path, None).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().ino()),
            (empty(), inode)
        );
    }
}
