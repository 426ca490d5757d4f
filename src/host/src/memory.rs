//! Keeping a program where no disk is needed for it.

use std::path::Path;

use nix::sys::mman::{MlockAllFlags, mlockall};

use crate::error::{At, Result};

/// Brings all of this process into memory and has it stay there, with what it will ask for: neither its code nor what was swapped out can be
/// had from a disk that answers no more.
///
/// # Errors
/// As the system call says.
pub fn stay() -> Result<()> {
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE)
        .at("locking in memory", Path::new("/proc/self/exe"))
}
