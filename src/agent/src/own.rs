//! Where this program lies.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// This program, by the path that it was started by; nothing when the kernel does not say. Whoever asks first has the kernel asked, so `main` asks
/// before the process gets mounts of its own: behind that the program lies on a mount that is gone, and the kernel tells its path below that
/// mount alone (`/lib/careen/…` for what lies in `/var/lib/careen`).
pub fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| std::env::current_exe().ok());
    program.as_deref()
}
