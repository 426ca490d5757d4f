//! P5, P6 and P7 of the benchmarks: what the agent costs while it idles, how soon it answers, how often it writes.
//!
//! Prints a table and leaves every run's numbers in `agent-bench.json`, beside the VM's. Wants a quiet machine and about seven
//! minutes, most of which an idle agent is looked at.

mod idle;
mod prompt;
mod row;
mod writes;

use std::path::PathBuf;

use anyhow::{Context, Result};
use vm_tests::runner::out;

/// How often everything is measured.
const RUNS: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let program = std::env::args_os()
        .nth(1)
        .context("usage: agent-bench PATH-OF-CAREEN-AGENT")?;
    let mut rows = idle::measure(&PathBuf::from(program)).await?;
    rows.extend(prompt::measure().await?);
    rows.push(writes::measure().await?);
    row::print(&rows);
    let file = out().join("agent-bench.json");
    std::fs::create_dir_all(out())?;
    std::fs::write(&file, serde_json::to_string_pretty(&rows)?)?;
    println!("every run's numbers are in {}", file.display());
    Ok(())
}
