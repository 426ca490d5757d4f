//! The cost of an upgrade compared with the same upgrade by hand, on the same frozen node (P1, P3,
//! P4), and what the stage adds to a boot (P9).
//!
//! "By hand" means what an administrator types who knows everything in advance and checks nothing.
//! That is the minimum.

mod careen;
mod hand;
mod meter;
mod pair;
mod place;
mod stage;
mod table;

use std::fs;
use std::path::Path;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use rig::images::{self, DiskKind, ensure_commit};
use rig::joined::Joined;
use rig::lanes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use testkit::programs::out;

use self::pair::{Run, pair};
use self::place::Place;

/// The measurements of one lane.
#[derive(Debug, Serialize, Deserialize)]
pub enum Measured {
    /// Both ways, one after the other on the same node.
    Pair(Run),
    /// The stage's time on a disk without fs-verity.
    Bare(stage::Times),
}

/// The last measurement.
const BARE: usize = 0;

/// Measures `runs` times, `jobs` at a time, and prints the table. The numbers of every run go to
/// `out/bench.json`. Parallel runs slow each other down equally: ratios stay the same, seconds do
/// not.
///
/// # Errors
///
/// Fails when a part does not start or an upgrade fails.
pub async fn run(runs: usize, jobs: usize) -> Result<()> {
    // Builds what the lanes share before the first one starts.
    ensure_commit("v2")?;
    Joined::prepare(DiskKind::Bios).await?;
    Joined::prepare(DiskKind::NoVerity).await?;
    let programs = images::programs()?;
    let mut measured = stream::iter((1..=runs).chain([BARE]))
        .map(|number| in_a_lane(number, &programs))
        .buffer_unordered(jobs);
    let (mut all, mut bare) = (Vec::new(), None);
    while let Some(one) = measured.try_next().await? {
        match one {
            Measured::Pair(run) => all.push(run),
            Measured::Bare(times) => bare = Some(times),
        }
        keep(&json!({"runs": all, "without fs-verity": bare}))?;
    }
    table::print(&all, bare.as_ref());
    println!(
        "every run's numbers are in {}",
        out().join("bench.json").display()
    );
    Ok(())
}

async fn in_a_lane(number: usize, programs: &Path) -> Result<Measured> {
    lanes::in_a_lane(&["bench-for-a-lane", &number.to_string()], programs).await
}

/// Makes one of these runs in its lane and prints it as JSON.
///
/// # Errors
///
/// Fails when a part does not start or an upgrade fails.
pub async fn run_for_a_lane(number: usize) -> Result<()> {
    let measured = if number == BARE {
        let place = Place::of("without-fs-verity");
        let image = ensure_commit("v2")?;
        Measured::Bare(
            careen::upgrade(DiskKind::NoVerity, &image, &place)
                .await?
                .stage,
        )
    } else {
        Measured::Pair(pair(&Place::of(&number.to_string())).await?)
    };
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}

/// Written after every run, because a long benchmark may be interrupted.
fn keep(numbers: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(numbers)?;
    Ok(fs::write(out().join("bench.json"), text)?)
}
