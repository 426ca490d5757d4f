//! Runs scenarios one after the other, each on a fresh node. One try each: what fails once is looked at, not repeated.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;

use crate::images;
use crate::programs;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::scenario::Scenario;

/// What is said of a scenario that a person stopped.
const INTERRUPTED: &str = "interrupted";

/// How one scenario went.
#[derive(Debug, Serialize)]
struct Outcome {
    name: &'static str,
    passed: bool,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// Where runs leave their files.
#[must_use]
pub fn out() -> PathBuf {
    programs::home().join("out")
}

/// Runs them all and says how they went; true when all passed.
///
/// # Errors
/// When the results cannot be written.
pub async fn run(scenarios: &[Scenario]) -> Result<bool> {
    for name in scenarios.iter().flat_map(|scenario| scenario.images) {
        images::ensure_commit(name)?;
    }
    let start = Instant::now();
    let mut outcomes = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        eprintln!(
            "\n--- {} of {}: {}",
            index + 1,
            scenarios.len(),
            scenario.name
        );
        let outcome = run_one(scenario, scenarios.len() == 1).await;
        let verdict = if outcome.passed { "passed" } else { "FAILED" };
        println!("{verdict}  {:>6.1} s  {}", outcome.seconds, outcome.name);
        let interrupted = outcome.failure.as_deref() == Some(INTERRUPTED);
        outcomes.push(outcome);
        if interrupted {
            break;
        }
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    fs::create_dir_all(out())?;
    fs::write(
        out().join("results.json"),
        serde_json::to_string_pretty(&outcomes)?,
    )?;
    eprintln!(
        "\n{:.0} s in all; times and failures are in {}",
        start.elapsed().as_secs_f64(),
        out().join("results.json").display()
    );
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    Ok(failed == 0)
}

async fn run_one(scenario: &Scenario, alone: bool) -> Outcome {
    let progress = Progress::new(scenario.name);
    let failure = try_one(scenario, alone, progress.clone())
        .await
        .err()
        .map(|error| format!("{error:#}"));
    if let Some(failure) = &failure {
        progress.step(&format!("FAILED: {failure}"));
    }
    let seconds = progress.elapsed().as_secs_f64();
    Outcome {
        name: scenario.name,
        passed: failure.is_none(),
        seconds,
        failure,
    }
}

/// `alone`: a scenario that a person runs by name leaves its logs also when it passes.
async fn try_one(scenario: &Scenario, alone: bool, progress: Progress) -> Result<()> {
    let dir = out().join(scenario.name);
    let mut rig = Rig::start(scenario.disk, &dir, progress.clone())
        .await
        .context("the rig did not start")?;
    let result = tokio::select! {
        result = (scenario.run)(&mut rig) => result,
        // Whoever stops a scenario that hangs wants to know where.
        _ = tokio::signal::ctrl_c() => Err(anyhow!(INTERRUPTED)),
    };
    if result.is_ok() && !alone {
        drop(rig);
        fs::remove_dir_all(&dir)?;
        return result;
    }
    let folder = rig.keep_evidence().await;
    progress.step(&format!(
        "serial log, journal, record and Node are in {}",
        folder.display()
    ));
    if result.is_ok() {
        drop(rig);
        // The disk and the cluster of a scenario that passed tell nobody anything.
        fs::remove_dir_all(dir.join("machine"))?;
        fs::remove_dir_all(dir.join("cluster"))?;
    }
    result
}
