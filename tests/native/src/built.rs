//! Programs of this source tree.

use std::path::PathBuf;

use anyhow::{Context, Result};
use testkit::cargo;

/// A program beside the running test, where cargo puts those of the whole workspace. Else it is
/// built there.
///
/// # Errors
///
/// Fails when it does not compile.
pub fn built(package: &str, name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let profile = own
        .ancestors()
        .find(|folder| folder.ends_with("debug") || folder.ends_with("release"));
    let profile = profile.context("this test is in no target folder of cargo")?;
    let program = profile.join(name);
    if !program.exists() {
        let target = profile.parent().context("no target folder")?;
        cargo::build(target, "dev", &["-p", package, "--bin", name], "")?;
    }
    Ok(program)
}
