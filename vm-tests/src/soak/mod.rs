//! Power cuts by the hundred on the real machine: one upgrade is recorded, every write and flush of its disk; then the disk is made as
//! a cut anywhere in it would leave it, with all, some or none of the writes that no flush had made safe, and the node is switched on.
//!
//! What it must do then is the whole claim: boot a system that was known to be good, come to an end by itself, Ready and schedulable,
//! with an answer that is true. A cut costs a boot, not an upgrade.

pub mod cut;
pub mod judge;
pub mod plan;
pub mod recording;
pub mod report;
pub mod writes;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};

use crate::images::{self, DiskKind};
use crate::joined::Joined;
use crate::lanes;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::runner::out;
use cut::Cut;
use judge::Verdict;
use recording::Files;

/// The image that is recorded.
const IMAGE: &str = "v2";

/// What a run makes.
#[derive(Debug, Clone, Copy)]
pub struct Soak {
    /// So many cuts.
    pub cuts: usize,
    /// The same seed makes the same cuts of the same recording.
    pub seed: u64,
    /// So many at a time.
    pub jobs: usize,
}

/// Where all of it lies.
fn folder() -> PathBuf {
    out().join("soak")
}

/// Records an upgrade unless there is a recording, makes the cuts and reports; true when no promise was broken.
///
/// # Errors
/// When the rig does not work.
pub async fn run(soak: Soak) -> Result<bool> {
    images::ensure_commit(IMAGE)?;
    Joined::prepare(DiskKind::Bios).await?;
    let programs = images::programs()?;
    if Files::in_folder(&folder()).read().is_err() {
        lanes::in_a_lane::<()>(&["soak-record"], &programs).await?;
    }
    let (recording, log) = Files::in_folder(&folder()).read()?;
    let cuts = plan::cuts(&recording, &log, soak.cuts, soak.seed);
    let begun = Instant::now();
    let mut verdicts = stream::iter(&cuts)
        .map(|cut| in_a_lane(cut, &programs))
        .buffer_unordered(soak.jobs);
    let mut all = Vec::new();
    while let Some(verdict) = verdicts.try_next().await? {
        println!("{}", report::line(&verdict, all.len() + 1, cuts.len()));
        all.push(verdict);
        report::keep(&folder(), soak.seed, &all)?;
    }
    Ok(report::close(&all, begun.elapsed()))
}

async fn in_a_lane(cut: &Cut, programs: &std::path::Path) -> Result<Verdict> {
    let cut = serde_json::to_string(cut)?;
    lanes::in_a_lane(&["soak-cut", &cut], programs).await
}

/// Records the upgrade, in its lane.
///
/// # Errors
/// When it fails.
pub async fn record_for_a_lane() -> Result<()> {
    recording::record(IMAGE, &folder()).await?;
    println!("null");
    Ok(())
}

/// Makes one cut, in its lane, and tells its verdict as JSON.
///
/// # Errors
/// When the rig does not work.
pub async fn cut_for_a_lane(cut: &str) -> Result<()> {
    let cut: Cut = serde_json::from_str(cut)?;
    println!("{}", serde_json::to_string(&make(&cut).await?)?);
    Ok(())
}

async fn make(cut: &Cut) -> Result<Verdict> {
    let files = Files::in_folder(&folder());
    let (recording, log) = files.read()?;
    let moment = recording
        .moment(cut.after)
        .context("this cut comes before the request")?;
    let dir = folder().join(format!("cut-{}", cut.index));
    let disk = folder().join(format!("cut-{}.raw", cut.index));
    cut.make_disk(&files.base, &log, &disk)?;
    let name = format!("cut {} ({}, {:?})", cut.index, moment.phase, cut.fate);
    let mut rig = Rig::cold(&disk, &dir, &moment.node, Progress::new(&name)).await?;
    let begun = Instant::now();
    let judged = judge::judge(&mut rig, &recording, cut, moment).await;
    let seconds = begun.elapsed().as_secs_f64();
    let view = rig.node.now();
    let verdict = Verdict {
        index: cut.index,
        phase: moment.phase.clone(),
        fate: cut.fate,
        seconds,
        answer: view.answer.unwrap_or_default(),
        code: view.status.and_then(|status| status.code),
        broken: judged.err().map(|broken| format!("{broken:#}")),
    };
    if verdict.broken.is_some() {
        rig.keep_evidence().await;
        return Ok(verdict);
    }
    drop(rig);
    fs::remove_dir_all(&dir)?;
    fs::remove_file(&disk)?;
    Ok(verdict)
}
