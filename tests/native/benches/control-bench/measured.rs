//! What one run of a program takes. The program runs below a process of its own, because the kernel
//! adds up what a process has waited for.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use native::Member;
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

/// A block of getrusage(2).
const BLOCK: f64 = 512.0;

/// What it took.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Took {
    /// By the clock.
    pub seconds: f64,
    /// The most memory that one of its processes had.
    pub peak_mib: f64,
    /// What its processes have written to disks, as the kernel counts it.
    pub written_mib: f64,
    /// Its exit code.
    pub code: Option<i32>,
}

/// Runs the command, and prints what it took.
pub fn print(command: &[String]) -> Result<()> {
    let (program, arguments) = command.split_first().context("no command")?;
    let begun = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    let seconds = begun.elapsed().as_secs_f64();
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let took = Took {
        seconds,
        peak_mib: used.max_rss() as f64 / 1024.0,
        written_mib: used.block_writes() as f64 * BLOCK / 1_048_576.0,
        code: output.code(),
    };
    println!("{}", serde_json::to_string(&took)?);
    Ok(())
}

/// A command on a member that is measured.
pub fn command(member: &Member, command: &[&str]) -> Result<Command> {
    let own = std::env::current_exe()?;
    let own = own.to_str().context("a path that is no text")?;
    member.command(own, &[&["measured", "--"], command].concat())
}

/// Runs it to its end. Any of these exit codes is a success.
pub async fn run(mut command: Command, codes: &[i32]) -> Result<Took> {
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    let said = String::from_utf8_lossy(&output.stderr);
    let took: Took = serde_json::from_slice(&output.stdout).with_context(|| said.to_string())?;
    let is_well = took.code.is_some_and(|code| codes.contains(&code));
    ensure!(is_well, "exit code {:?}: {said}", took.code);
    Ok(took)
}
