//! P5, P6 and P7 of the benchmarks: the cost of an idle agent, its response time, and the number of
//! its writes.
//!
//! Prints a table and writes the numbers of every run to `agent-bench.json`, next to the VM's
//! numbers. It needs an otherwise idle machine and about seven minutes, most of which it observes
//! an idle agent.

mod idle;
mod prompt;
mod writes;

use std::path::PathBuf;

use anyhow::{Context, Result};
use careen_tests::row;
use testkit::programs::out;

/// How often each quantity is measured.
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
