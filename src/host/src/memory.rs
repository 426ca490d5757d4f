//! Keeps a program in memory, so that it needs no disk.

use std::path::Path;

use nix::sys::mman::{MlockAllFlags, mlockall};

use crate::error::{At, Result};

/// Loads this process into memory and locks it there, including later allocations. A disk that no
/// longer answers can provide neither its code nor swapped-out pages.
///
/// # Errors
/// The system call failed.
pub fn stay() -> Result<()> {
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE)
        .at("locking in memory", Path::new("/proc/self/exe"))
}
