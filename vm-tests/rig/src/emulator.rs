//! The QEMU program: the host's if it is new enough, else Debian 13's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};
use testkit::programs;

/// The path of `qemu-system-x86_64`, fetched on first use.
///
/// # Errors
///
/// Fails when it cannot be fetched; the script's own output went to standard error.
pub fn program() -> Result<&'static Path> {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    if let Some(program) = PROGRAM.get() {
        return Ok(program);
    }
    let script = programs::home().join("emulator/program.sh");
    let path = printed(Command::new(&script).stderr(Stdio::inherit()))?;
    Ok(PROGRAM.get_or_init(|| path.into()))
}

/// The first line of `--version`.
///
/// # Errors
///
/// Fails when there is no QEMU.
pub fn version() -> Result<String> {
    let text = printed(Command::new(program()?).arg("--version"))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// What a command prints, without the last newline.
fn printed(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}
