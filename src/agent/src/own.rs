//! The path of this program.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// This program, by the path that started it, or `None` if the kernel does not report it. The first
/// call asks the kernel, so `main` calls this before the process gets its own mounts. After that,
/// the program is on a mount that is gone, and the kernel reports only the path below that mount
/// (`/lib/careen/…` for a program in `/var/lib/careen`).
pub fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| std::env::current_exe().ok());
    program.as_deref()
}
