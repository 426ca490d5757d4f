//! Scenarios side by side: each in a process of its own with a network of its own, because all frozen clusters have the same
//! ports. A node waits much of its time (for a boot's timers, a deadline, a server that is away), so two share two cores well.

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result};
use futures::{StreamExt, stream};
use tokio::process::Command;

use crate::runner::Outcome;
use crate::scenario::Scenario;

/// Runs them, `jobs` at a time, in their order.
pub async fn run(scenarios: &[Scenario], jobs: usize) -> Vec<Outcome> {
    stream::iter(scenarios)
        .map(run_one)
        .buffer_unordered(jobs)
        .inspect(|outcome| println!("{outcome}"))
        .collect()
        .await
}

async fn run_one(scenario: &Scenario) -> Outcome {
    let start = Instant::now();
    child(scenario).await.unwrap_or_else(|error| Outcome {
        name: scenario.name.to_owned(),
        passed: false,
        seconds: start.elapsed().as_secs_f64(),
        failure: Some(format!("its process told no outcome: {error:#}")),
    })
}

async fn child(scenario: &Scenario) -> Result<Outcome> {
    let this = std::env::current_exe().context("where is this program?")?;
    let child = Command::new("unshare")
        .args(["--net", "--", "sh", "-c"])
        .arg("ip link set lo up && exec \"$0\" run-for-a-lane \"$1\"")
        .arg(this)
        .arg(scenario.name)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot run unshare")?;
    // Not `output`, which would keep its progress from the screen.
    let output = child.wait_with_output().await?;
    serde_json::from_slice(&output.stdout).with_context(|| output.status.to_string())
}
