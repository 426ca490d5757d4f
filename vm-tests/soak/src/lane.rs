//! What one lane does: a recording, or a cut and the judgement of it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rig::progress::Progress;
use rig::{Rig, images};

use super::cut::Cut;
use super::folder::{files, place_of};
use super::judge::{self, Verdict};
use super::place::Recorded;
use super::record;
use super::way::Way;

/// Records an upgrade in its lane. The last part of `folder` is the name of its way.
///
/// # Errors
///
/// Fails when it fails.
pub async fn record_for_a_lane(folder: &Path) -> Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let way = Way::called(&name).with_context(|| format!("no way is called {name:?}"))?;
    record::record(way, folder).await?;
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
    let now = super::folder::folder(&images::programs()?)?;
    ensure!(
        now == folder,
        "images or rig have changed since the recording: begin the run again"
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
    let took = *judged.as_ref().unwrap_or(&begun.elapsed());
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
