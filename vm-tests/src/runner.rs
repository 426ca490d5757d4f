//! Runs scenarios, each on a fresh node and only once. A failure is investigated, not retried.

use std::fs;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rig::Rig;
use rig::images;
use rig::joined::Joined;
use rig::progress::Progress;
use scenarios::Scenario;
use scenarios::loses_writes;
use testkit::programs::out;

use crate::outcome::Outcome;
use crate::passed::Passed;
use crate::side_by_side;
use crate::time::Time;

/// The failure of a scenario that a person stopped.
const INTERRUPTED: &str = "interrupted";

/// The options of a run.
pub struct How {
    /// How many scenarios run at a time.
    pub jobs: usize,
    /// Scenarios outside the core start within this time or not at all.
    pub for_others: Option<Duration>,
    /// Skip scenarios that have passed with the same content.
    pub go_on: bool,
}

/// Runs all scenarios and prints their outcomes. Returns true when all passed.
///
/// # Errors
///
/// Fails when a shared part cannot be built, or the results cannot be written.
pub async fn run(scenarios: &[Scenario], how: How) -> Result<bool> {
    let passed = Passed::with(&images::programs()?)?;
    let before = |scenario: &Scenario| passed.outcome(scenario).filter(|_| how.go_on);
    let mut outcomes: Vec<_> = scenarios.iter().filter_map(before).collect();
    outcomes
        .iter()
        .for_each(|then| println!("{then} (before, with the same content)"));
    let known = outcomes.len();
    let left: Vec<_> = scenarios
        .iter()
        .copied()
        .filter(|scenario| before(scenario).is_none())
        .collect();
    prepare(&left).await?;
    let begun = Instant::now();
    let time = Time::from(begun, how.for_others);
    // A single scenario keeps its logs and needs no network of its own.
    let new = if how.jobs > 1 && left.len() > 1 {
        side_by_side::run(&left, how.jobs, time, &passed).await?
    } else {
        one_by_one(&left, time, &passed).await?
    };
    outcomes.extend(new);
    close(&outcomes, known, begun)
}

/// Builds what the scenarios share before the first clock starts, and one part at a time.
async fn prepare(scenarios: &[Scenario]) -> Result<()> {
    for name in scenarios.iter().flat_map(|scenario| scenario.images) {
        images::ensure_commit(name)?;
    }
    for scenario in scenarios {
        Joined::prepare(scenario.disk).await?;
    }
    Ok(())
}

async fn one_by_one(scenarios: &[Scenario], time: Time, passed: &Passed) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        if !time.is_left_for(scenario) {
            continue;
        }
        let (number, all) = (index + 1, scenarios.len());
        eprintln!("\n--- {number} of {all}: {}", scenario.name);
        let outcome = run_one(scenario, scenarios.len() == 1).await;
        println!("{outcome}");
        passed.note(&outcome)?;
        let interrupted = outcome.failure.as_deref() == Some(INTERRUPTED);
        outcomes.push(outcome);
        if interrupted {
            break;
        }
    }
    Ok(outcomes)
}

fn close(outcomes: &[Outcome], before: usize, start: Instant) -> Result<bool> {
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    fs::create_dir_all(out())?;
    fs::write(
        out().join("results.json"),
        serde_json::to_string_pretty(outcomes)?,
    )?;
    eprintln!(
        "\n{:.0} s in all; times and failures are in {}",
        start.elapsed().as_secs_f64(),
        out().join("results.json").display()
    );
    if before > 0 {
        println!(
            "{before} of them passed before, with the very same content; FRESH=1 runs these too"
        );
    }
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    Ok(failed == 0)
}

/// Runs one scenario for [`rig::lanes`]. Standard output contains only its outcome.
///
/// # Errors
///
/// Fails when the outcome cannot be serialized.
pub async fn run_for_a_lane(scenario: &Scenario) -> Result<bool> {
    let outcome = run_one(scenario, false).await;
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(outcome.passed)
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
        name: scenario.name.to_owned(),
        passed: failure.is_none(),
        seconds,
        failure,
    }
}

async fn begin(scenario: &Scenario, dir: &Path, progress: Progress) -> Result<Rig> {
    if loses_writes(scenario.name) {
        let log = dir.join("machine/writes.log");
        return Rig::start_logging_writes(scenario.disk, dir, &log, progress).await;
    }
    Rig::start(scenario.disk, dir, progress).await
}

/// `alone`: a scenario that a person runs by name keeps its logs even if it passes.
async fn try_one(scenario: &Scenario, alone: bool, progress: Progress) -> Result<()> {
    let dir = out().join(scenario.name);
    let mut interrupt = pin!(tokio::signal::ctrl_c());
    let start = begin(scenario, &dir, progress.clone());
    let mut rig = unless(&mut interrupt, start)
        .await?
        .context("the rig did not start")?;
    // A person who stops a hanging scenario wants to know where it hung.
    let result = unless(&mut interrupt, (scenario.run)(&mut rig))
        .await
        .flatten();
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
    if result.is_err() {
        show_end(&folder);
    } else {
        drop(rig);
        // Nobody needs the disk and the cluster of a scenario that passed.
        fs::remove_dir_all(dir.join("machine"))?;
        fs::remove_dir_all(dir.join("cluster"))?;
    }
    result
}

/// Prints the end of the node's logs. On a remote machine this output is all that a reader has.
fn show_end(folder: &Path) {
    let ends = [
        ("journal.txt", "careen", 20),
        ("serial.log", "", 10),
        ("node.txt", "careen.dev/", 4),
    ];
    for (file, about, count) in ends {
        let text = fs::read(folder.join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().filter(|line| line.contains(about)).collect();
        eprintln!("the end of {file}:");
        for line in &lines[lines.len().saturating_sub(count)..] {
            eprintln!("    {line}");
        }
    }
}

/// The result of `work`, unless a person interrupts it.
async fn unless<T>(
    interrupt: &mut (impl Future<Output = io::Result<()>> + Unpin),
    work: impl Future<Output = T>,
) -> Result<T> {
    tokio::select! {
        // This order makes sure that a Ctrl-C is noticed from the start.
        biased;
        _ = interrupt => bail!(INTERRUPTED),
        done = work => Ok(done),
    }
}
