//! Which file system a file is on.

use std::path::Path;

use nix::sys::statfs::statfs;

use crate::error::{At, Result};

// linux/magic.h; nix knows them only for some C libraries.
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
    /// Asks the kernel about the file system of a file.
    ///
    /// # Errors
    /// When the file cannot be found.
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
