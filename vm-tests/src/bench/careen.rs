//! The upgrade with Careen.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rig::UPGRADE;
use rig::images::{Commit, DiskKind};
use rig::node::Seen;
use serde::{Deserialize, Serialize};

use super::meter::{Meter, Took};
use super::place::{Place, empty_node};
use super::stage;

/// What one upgrade took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Times {
    /// From the request until the new system is deployed and verified.
    pub staging: Took,
    /// The time of each step: fetched, verified, deployed, as the Node reported them.
    pub steps: [f64; 3],
    /// Of these, how long the node was not Ready or not schedulable.
    pub unavailable_while_staging: f64,
    /// The time of the cordon.
    pub down: Took,
    /// Bytes that the remote sent.
    pub fetched: u64,
    /// What the stage did in the trial boot.
    pub stage: stage::Times,
}

/// Upgrades once.
///
/// # Errors
///
/// Fails when the upgrade fails.
pub(super) async fn upgrade(disk: DiskKind, image: &Commit, place: &Place) -> Result<Times> {
    let mut rig = empty_node(disk, place).await?;
    rig.policy("[limits]\nio-weight = 100\nmemory-mib = 0\n[health]\nsteady-seconds = 0")
        .await?;
    let before = rig.before().await?;
    let meter = Meter::at(rig.emulator()?)?;
    let begun = Instant::now();
    rig.ask(image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    let staged = Instant::now();
    let fetched = rig.repo.served();
    rig.expect_upgraded(&before, image).await?;
    let history = rig.node.history();
    let (cordon, end) = cordoned(&history).context("the node was never cordoned")?;
    // An empty node may be drained before the Node reports that everything is staged.
    let staged = staged.min(cordon);
    Ok(Times {
        staging: meter.between(begun, staged),
        steps: steps(&history, begun),
        unavailable_while_staging: unavailable(&history, begun, staged).as_secs_f64(),
        down: meter.between(cordon, end),
        fetched,
        stage: stage::measure(&mut rig.guest).await?,
    })
}

/// The time of each of the three steps.
fn steps(history: &[Seen], begun: Instant) -> [f64; 3] {
    let mut last = begun;
    ["Fetched", "Verified", "Deployed"].map(|phase| {
        let seen = history
            .iter()
            .find(|seen| seen.at > begun && seen.view.phase() == phase);
        let at = seen.map_or(last, |seen| seen.at);
        let took = (at - last).as_secs_f64();
        last = at;
        took
    })
}

/// The beginning and the end of the cordon.
fn cordoned(history: &[Seen]) -> Option<(Instant, Instant)> {
    let begin = history.iter().position(|seen| !seen.view.schedulable)?;
    let end = history[begin..].iter().find(|seen| seen.view.schedulable)?;
    Some((history[begin].at, end.at))
}

/// The time between two moments in which the node could run no pods.
fn unavailable(history: &[Seen], from: Instant, to: Instant) -> Duration {
    let ends = history
        .iter()
        .skip(1)
        .map(|seen| seen.at)
        .chain(std::iter::once(to));
    history
        .iter()
        .zip(ends)
        .filter(|(seen, _)| !(seen.view.ready && seen.view.schedulable))
        .map(|(seen, end)| end.clamp(from, to) - seen.at.clamp(from, to))
        .sum()
}
