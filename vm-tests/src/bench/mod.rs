//! The cost of an upgrade compared with the same upgrade by hand, on the same frozen node (P1, P3,
//! P4), and what the stage adds to a boot (P9).
//!
//! "By hand" means what an administrator types who knows everything in advance and checks nothing.
//! That is the minimum.

mod careen;
mod hand;
mod meter;
mod stage;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use testkit::programs::out;

use crate::images::{self, Commit, DiskKind, ensure_commit};
use crate::joined::Joined;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::{changed, lanes, workload};

/// One run of both ways. Times in seconds, sizes in bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    careen: careen::Times,
    hand: hand::Times,
    changed: u64,
}

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

async fn pair(place: &Place) -> Result<Run> {
    let image = ensure_commit("v2")?;
    let repository = images::repository()?;
    let share = changed::share(&repository, "v1", &image.digest)?;
    Ok(Run {
        careen: careen::upgrade(DiskKind::Bios, &image, place).await?,
        hand: hand::upgrade(&image, share, place).await?,
        changed: changed::bytes(&repository, "v1", &image.digest)?,
    })
}

/// The folder of a run's node, and its progress output.
#[derive(Debug)]
struct Place {
    dir: PathBuf,
    progress: Progress,
}

impl Place {
    fn of(name: &str) -> Self {
        let name = format!("bench-{name}");
        Self {
            dir: out().join(&name),
            progress: Progress::new(&name),
        }
    }
}

/// Written after every run, because a long benchmark may be interrupted.
fn keep(numbers: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(numbers)?;
    Ok(fs::write(out().join("bench.json"), text)?)
}

/// A joined node with nothing to drain.
async fn empty_node(disk: DiskKind, place: &Place) -> Result<Rig> {
    let mut rig = Rig::start(disk, &place.dir, place.progress.clone()).await?;
    rig.before().await?;
    workload::remove(&rig.plane.client().await?).await?;
    rig.forget_base().await?;
    // The restored guest's catching up must not count in the measurement.
    tokio::time::sleep(Duration::from_secs(20)).await;
    Ok(rig)
}
