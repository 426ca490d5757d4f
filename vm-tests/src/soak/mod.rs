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
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};

use crate::images::{self, DiskKind, Key};
use crate::joined::Joined;
use crate::lanes;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::runner::out;
use cut::Cut;
use judge::Verdict;
use recording::{Files, POLICY};
use report::Report;

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
    /// This one alone, once more, whatever the report says of it.
    pub only: Option<usize>,
}

/// Where all of it lies. What is recorded is that of one joined node, one image and one build: with any of them changed, another
/// recording has to be made, and a report of the former is none of these programs.
fn folder(programs: &Path) -> Result<PathBuf> {
    let commit = images::ensure_commit(IMAGE)?;
    let key = Key::default()
        .text(Joined::identity(DiskKind::Bios)?)
        .text(commit.digest)
        .text(POLICY)
        .files(programs)?;
    Ok(out().join("soak").join(key.digits()))
}

/// Removes what the recordings of other builds take, gigabytes each. Their reports and what is left of broken cuts stay.
fn drop_others(folder: &Path) -> Result<()> {
    let all = out().join("soak");
    let others = fs::read_dir(&all).with_context(|| all.display().to_string())?;
    for other in others {
        let other = other?.path();
        if other != folder && other.is_dir() {
            Files::in_folder(&other).remove()?;
        }
    }
    Ok(())
}

/// Records an upgrade unless there is a recording, makes the cuts and reports; true when no promise was broken. Cuts that a run before
/// this one has made are not made again.
///
/// # Errors
/// When the rig does not work.
pub async fn run(soak: Soak) -> Result<bool> {
    Joined::prepare(DiskKind::Bios).await?;
    let programs = images::programs()?;
    let folder = folder(&programs)?;
    fs::create_dir_all(&folder)?;
    drop_others(&folder)?;
    let ground = Ground { folder, programs };
    let (recording, log) = ground.recording().await?;
    if let Some(index) = soak.only {
        let cuts = plan::cuts(&recording, &log, index + 1, soak.seed);
        return ground.make_alone(&cuts[index]).await;
    }
    let cuts = plan::cuts(&recording, &log, soak.cuts, soak.seed);
    ground.make_all(&cuts, soak).await
}

/// What all cuts of a run start from.
struct Ground {
    folder: PathBuf,
    programs: PathBuf,
}

impl Ground {
    async fn recording(&self) -> Result<(recording::Recording, writes::Log)> {
        let files = Files::in_folder(&self.folder);
        if files.read().is_err() {
            let folder = self.folder.to_string_lossy();
            lanes::in_a_lane::<()>(&["soak-record", &folder], &self.programs).await?;
        }
        files.read()
    }

    async fn make(&self, cut: &Cut) -> Result<Verdict> {
        let (folder, cut) = (self.folder.to_string_lossy(), serde_json::to_string(cut)?);
        lanes::in_a_lane(&["soak-cut", &folder, &cut], &self.programs).await
    }

    async fn make_alone(&self, cut: &Cut) -> Result<bool> {
        let verdict = self.make(cut).await?;
        println!("{}", report::line(&verdict, 1, 1));
        Ok(verdict.broken.is_none())
    }

    async fn make_all(&self, cuts: &[Cut], soak: Soak) -> Result<bool> {
        let mut report = Report::read(&self.folder, soak.seed);
        let left = report.left_of(cuts);
        if left.len() < cuts.len() {
            let made = cuts.len() - left.len();
            println!("{made} of {} cuts were made before", cuts.len());
        }
        let begun = Instant::now();
        let mut verdicts = stream::iter(left)
            .map(|cut| self.make(cut))
            .buffer_unordered(soak.jobs);
        while let Some(verdict) = verdicts.try_next().await? {
            let number = report.cuts.len() + 1;
            println!("{}", report::line(&verdict, number, cuts.len()));
            report.add(verdict)?;
        }
        Ok(report.close(begun.elapsed()))
    }
}

/// Records the upgrade, in its lane.
///
/// # Errors
/// When it fails.
pub async fn record_for_a_lane(folder: &Path) -> Result<()> {
    recording::record(IMAGE, folder).await?;
    println!("null");
    Ok(())
}

/// Makes one cut, in its lane, and tells its verdict as JSON.
///
/// # Errors
/// When the rig does not work.
pub async fn cut_for_a_lane(folder: &Path, cut: &str) -> Result<()> {
    let cut: Cut = serde_json::from_str(cut)?;
    println!("{}", serde_json::to_string(&make(folder, &cut).await?)?);
    Ok(())
}

async fn make(folder: &Path, cut: &Cut) -> Result<Verdict> {
    let files = Files::in_folder(folder);
    let (recording, log) = files.read()?;
    let moment = recording
        .moment(cut.after)
        .context("this cut comes before the request")?;
    let dir = folder.join(format!("cut-{}", cut.index));
    let disk = folder.join(format!("cut-{}.raw", cut.index));
    cut.make_disk(&files.base, &log, &disk)?;
    let name = format!("cut {} ({}, {:?})", cut.index, moment.phase, cut.fate);
    let mut rig = Rig::cold(&disk, &dir, &moment.node, Progress::new(&name)).await?;
    let begun = Instant::now();
    let judged = judge::judge(&mut rig, &recording, cut, moment).await;
    let seconds = begun.elapsed().as_secs_f64();
    let view = rig.node.now();
    let verdict = Verdict {
        cut: *cut,
        phase: moment.phase.clone(),
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
