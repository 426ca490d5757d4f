//! What an upgrade costs beside the same done by hand, on the same frozen node (P1, P3, P4), and what the stage adds to a boot (P9).
//!
//! By hand means: what an administrator types who knows everything beforehand and checks nothing. That is the floor.

mod careen;
mod hand;
mod stage;
mod table;

use std::fs;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use crate::images::{self, Commit, DiskKind, ensure_commit};
use crate::progress::Progress;
use crate::rig::Rig;
use crate::runner::out;
use crate::{changed, workload};

/// One run of both ways. Times in seconds, sizes in bytes.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    careen: careen::Times,
    hand: hand::Times,
    changed: u64,
}

/// Measures `runs` times and prints the table; the numbers of every run go to `out/bench.json`.
///
/// # Errors
/// When a part does not start or an upgrade fails.
pub async fn run(runs: usize) -> Result<()> {
    let image = ensure_commit("v2")?;
    let repository = images::repository()?;
    let changed = changed::bytes(&repository, "v1", &image.digest)?;
    let share = changed::share(&repository, "v1", &image.digest)?;
    let mut all = Vec::new();
    for number in 1..=runs {
        let progress = Progress::new(&format!("bench {number} of {runs}"));
        let careen = careen::upgrade(DiskKind::Bios, &image, progress.clone()).await?;
        let hand = hand::upgrade(&image, share, progress).await?;
        all.push(Run {
            careen,
            hand,
            changed,
        });
        keep(&json!({"runs": all}))?;
    }
    let progress = Progress::new("bench without fs-verity");
    let bare = careen::upgrade(DiskKind::NoVerity, &image, progress).await?;
    keep(&json!({"runs": all, "without fs-verity": bare.stage}))?;
    table::print(&all, &bare.stage);
    println!(
        "every run's numbers are in {}",
        out().join("bench.json").display()
    );
    Ok(())
}

/// Written after every run: a long benchmark may be cut short.
fn keep(numbers: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(numbers)?;
    Ok(fs::write(out().join("bench.json"), text)?)
}

/// A joined node without anything to drain.
async fn empty_node(disk: DiskKind, progress: Progress) -> Result<Rig> {
    let mut rig = Rig::start(disk, &out().join("bench"), progress).await?;
    rig.before().await?;
    workload::remove(&rig.plane.client().await?).await?;
    // What the restored guest has to catch up with must not count for whoever is measured.
    tokio::time::sleep(Duration::from_secs(20)).await;
    Ok(rig)
}
