//! Runs the rig's scripts in `images/` and prints what it makes and how long that took.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::programs;
use crate::ticker::Ticker;

/// A file or folder beside the scripts.
#[must_use]
pub fn beside(name: &str) -> PathBuf {
    programs::home().join("images").join(name)
}

/// Prints what begins, does it with a line every ten seconds, and prints how long it took.
///
/// # Errors
///
/// Returns the error of `work`.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let ticker = Ticker::begin(what);
    eprintln!("  {what} ...");
    let result = work().with_context(|| what.to_owned())?;
    eprintln!("  {what}: {:.1} s", ticker.end().as_secs_f64());
    Ok(result)
}

/// Runs a program; its output goes to standard error.
///
/// # Errors
///
/// Fails when it cannot be started or fails.
pub fn run<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = S>,
) -> Result<()> {
    let mut command = Command::new(program);
    finish(
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(std::io::stderr()),
    )
}

/// Runs a program and returns its output without the last newline.
///
/// # Errors
///
/// Fails when it cannot be started or fails.
pub fn read<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = S>,
) -> Result<String> {
    let mut command = Command::new(program);
    let output = command
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| said(&command))?;
    ensure!(
        output.status.success(),
        "{}: {}",
        said(&command),
        output.status
    );
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Runs one of the scripts in `images/`.
///
/// # Errors
///
/// Fails when it fails.
pub fn script(name: &str, arguments: &[&Path]) -> Result<()> {
    run(beside(name), arguments)
}

/// Runs a prepared command to its end.
///
/// # Errors
///
/// Fails when it cannot be started or fails.
pub fn finish(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| said(command))?;
    ensure!(status.success(), "{}: {status}", said(command));
    Ok(())
}

fn said(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
