//! Runs scenarios side by side, each in a lane.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use futures::future::ready;
use futures::{StreamExt, TryStreamExt, stream};
use rig::images;
use rig::lanes::in_a_lane;
use scenarios::Scenario;
use tokio::signal::ctrl_c;

use crate::outcome::Outcome;
use crate::passed::Passed;
use crate::time::Time;

/// Runs the scenarios in order, `jobs` at a time. After a Ctrl-C the running ones end with
/// evidence, and no other starts.
///
/// # Errors
///
/// Fails when our programs do not compile.
pub async fn run(
    scenarios: &[Scenario],
    jobs: usize,
    time: Time,
    passed: &Passed,
) -> Result<Vec<Outcome>> {
    // One run tests one build, even if the sources change meanwhile.
    let programs = images::programs()?;
    let outcomes = stream::iter(scenarios)
        .take_until(ctrl_c())
        .filter(|scenario| ready(time.is_left_for(scenario)))
        .map(|scenario| run_one(scenario, &programs))
        .buffer_unordered(jobs)
        .map(|outcome| {
            println!("{outcome}");
            passed.note(&outcome).map(|()| outcome)
        });
    outcomes.try_collect().await
}

async fn run_one(scenario: &Scenario, programs: &Path) -> Outcome {
    let start = Instant::now();
    in_a_lane(&["run-for-a-lane", scenario.name], programs)
        .await
        .unwrap_or_else(|error| Outcome {
            name: scenario.name.to_owned(),
            passed: false,
            seconds: start.elapsed().as_secs_f64(),
            failure: Some(format!("its process told no outcome: {error:#}")),
        })
}
