//! The real careen-grub.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::run::succeed;

/// careen-grub is beside the program under test; another crate makes it, so cargo is asked for it
/// once.
pub fn generator() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        succeed(Command::new(env!("CARGO")).args([
            "build",
            "--quiet",
            "-p",
            "careen-stage",
            "--bin",
            "careen-grub",
        ]));
        Path::new(env!("CARGO_BIN_EXE_careen-deploy")).with_file_name("careen-grub")
    })
}
