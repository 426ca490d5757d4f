//! Room on file systems.

use std::path::Path;

use nix::sys::statvfs::statvfs;

use crate::error::{At, Result};

/// Free bytes on the file system of `path`, those kept for root included: what writes here runs as root.
///
/// # Errors
/// As the system call says.
pub fn free(path: &Path) -> Result<u64> {
    let stat = statvfs(path).at("asking for room on", path)?;
    Ok(stat.blocks_free().saturating_mul(stat.fragment_size()))
}
