//! Builds programs of this source tree as they are in an image.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::programs;
use crate::script::{finish, step};

/// The program that wraps a commit in a container image and pushes it. It runs on the host and is
/// in no image.
///
/// # Errors
///
/// Fails when it does not compile.
pub fn careen_image() -> Result<PathBuf> {
    let target = programs::cache()?.join("target");
    step("careen-image", || {
        build(&target, "image", &["-p", "careen-image"], "")
    })?;
    Ok(target.join("image/careen-image"))
}

/// The top of the source tree.
#[must_use]
pub fn source() -> PathBuf {
    programs::home()
        .parent()
        .unwrap_or(Path::new("/"))
        .to_owned()
}

/// Runs `cargo build` with this profile, these arguments and these compiler flags.
///
/// # Errors
///
/// Fails when it does not compile.
pub fn build(target: &Path, profile: &str, arguments: &[&str], flags: &str) -> Result<()> {
    let mut command = Command::new("cargo");
    command
        .current_dir(source())
        .args(["build", "--quiet", "--profile", profile])
        .args(arguments);
    finish(
        command
            .env("CARGO_TARGET_DIR", target)
            .env("RUSTFLAGS", flags),
    )
}
