//! Hundreds of power cuts on the real machine. The rig records every write and flush of the disk
//! during an upgrade, and during one that falls back. Then it builds the disk as a cut at any point
//! would leave it: with all, some or none of the writes that were not flushed. Then it powers the
//! node on.
//!
//! The node must boot a system that was known to be good and finish on its own, Ready and
//! schedulable, with a correct answer. A cut costs a boot, not an upgrade.

pub mod cut;
pub mod judge;
pub mod marks;
pub mod missed;
pub mod page;
pub mod place;
pub mod plan;
pub mod recording;
pub mod report;
mod run;
pub mod way;
pub mod writes;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use testkit::programs::out;

use testkit::cache::Key;

use crate::images::{self, DiskKind};
use crate::joined::Joined;
use crate::progress::Progress;
use crate::rig::Rig;
use cut::Cut;
use judge::Verdict;
use place::Recorded;
use recording::Files;
use way::Way;

pub use run::run;

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub struct Soak {
    /// The number of cuts. With 0, the run adds up all results so far and writes them into the
    /// docs.
    pub cuts: usize,
    /// The same seed makes the same cuts of the same recordings.
    pub seed: u64,
    /// How many run at a time.
    pub jobs: usize,
    /// Make only this cut once more, whatever the report says about it.
    pub only: Option<usize>,
}

/// The folder of all runs, of any build.
fn all_runs() -> PathBuf {
    out().join("soak")
}

/// The folder of a run. A recording belongs to one joined node, two images and one build. If any of
/// them changes, a new recording is necessary, and an earlier report does not apply to these
/// programs.
fn folder(programs: &Path) -> Result<PathBuf> {
    let mut key = Key::default().text(Joined::identity(DiskKind::Bios)?);
    for way in Way::ALL {
        let commit = images::ensure_commit(way.image())?;
        key = key.text(commit.digest).text(way.policy());
    }
    Ok(all_runs().join(key.files(programs)?.digits()))
}

/// The files of one way's recording.
fn files(folder: &Path, way: Way) -> Files {
    Files::in_folder(&folder.join(way.name()))
}

/// The folder of one cut's machine, and the disk that it starts from.
fn place_of(folder: &Path, cut: &Cut) -> (PathBuf, PathBuf) {
    let name = |end: &str| folder.join(format!("cut-{}-{}{end}", cut.plan, cut.index));
    (name(""), name(".raw"))
}

/// Records an upgrade in its lane. The last part of `folder` is the name of its way.
///
/// # Errors
///
/// Fails when it fails.
pub async fn record_for_a_lane(folder: &Path) -> Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let way = Way::called(&name).with_context(|| format!("no way is called {name:?}"))?;
    recording::record(way, folder).await?;
    println!("null");
    Ok(())
}

/// Makes one cut in its lane and prints its verdict as JSON.
///
/// # Errors
///
/// Fails when the rig does not work. That is not a verdict.
pub async fn cut_for_a_lane(folder: &Path, cut: &str) -> Result<()> {
    let cut: Cut = serde_json::from_str(cut)?;
    // The cluster of another joined node would reject this node, which would look like the node's
    // fault.
    let now = self::folder(&images::programs()?)?;
    ensure!(
        now == folder,
        "images or rig have changed since the recording: begin the run anew"
    );
    println!("{}", serde_json::to_string(&make(folder, &cut).await?)?);
    Ok(())
}

async fn make(folder: &Path, cut: &Cut) -> Result<Verdict> {
    let files = files(folder, cut.way);
    let recorded = files.read(cut.way)?;
    let (dir, disk) = place_of(folder, cut);
    cut.make_disk(&files.base, &recorded.log, &disk)?;
    let verdict = make_on(&recorded, cut, &disk, &dir).await?;
    if verdict.broken.is_none() {
        fs::remove_dir_all(&dir)?;
        fs::remove_file(&disk)?;
    }
    Ok(verdict)
}

async fn make_on(recorded: &Recorded, cut: &Cut, disk: &Path, dir: &Path) -> Result<Verdict> {
    let place = recorded.place(cut.after)?;
    let (step, fate) = (place.step(), cut.fate);
    let name = format!("cut {} of the {} ({step}; {fate:?})", cut.index, cut.way);
    let mut rig = Rig::cold(disk, dir, &place.told.node, Progress::new(&name)).await?;
    let begun = tokio::time::Instant::now();
    let judged = judge::judge(&mut rig, recorded, cut, &place).await;
    let took = judged.as_ref().map_or(begun.elapsed(), |rest| rest.took);
    if judged.is_err() {
        rig.keep_evidence().await;
        rig.check().await?;
    }
    let view = rig.node.now();
    Ok(Verdict {
        cut: *cut,
        step,
        seconds: took.as_secs_f64(),
        answer: view.answer.unwrap_or_default(),
        code: view.status.and_then(|status| status.code),
        broken: judged.err().map(|broken| format!("{broken:#}")),
    })
}
