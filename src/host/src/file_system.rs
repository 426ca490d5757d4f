//! The kind of file system that a file is on.

use std::path::Path;

use nix::sys::statfs::statfs;

use crate::error::{At, Result};

// From linux/magic.h; nix knows these only for some C libraries.
const EXT: i64 = 0xEF53;
const XFS: i64 = 0x5846_5342;
const VFAT: i64 = 0x4D44;

/// A kind of file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// ext2, ext3 or ext4: they share a number.
    Ext,
    /// XFS.
    Xfs,
    /// FAT, as on an ESP.
    Vfat,
    /// Another one, by its number in linux/magic.h.
    Other(i64),
}

impl FileSystem {
    /// Asks the kernel for the file system of a file.
    ///
    /// # Errors
    /// The file cannot be found.
    pub fn of(path: &Path) -> Result<Self> {
        let found = statfs(path).at("asking for the file system of", path)?;
        Ok(match found.filesystem_type().0 {
            EXT => Self::Ext,
            XFS => Self::Xfs,
            VFAT => Self::Vfat,
            other => Self::Other(other),
        })
    }
}
