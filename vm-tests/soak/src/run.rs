//! One run: makes missing recordings, makes the cuts that no earlier run has made, a few at a time,
//! and reports each.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use futures::{StreamExt, stream};
use rig::images::{self, DiskKind};
use rig::joined::Joined;
use rig::lanes;
use tokio::signal::ctrl_c;

use super::cut::Cut;
use super::folder::{all_runs, files, folder, place_of};
use super::judge::Verdict;
use super::missed::Expected;
use super::place::Recorded;
use super::report::{self, Report};
use super::way::Way;
use super::{page, plan};

/// In bytes, enough for a cut's disk, its overlay and a recording. On a full disk a machine stops
/// and would look hung.
const ROOM: u64 = 16 << 30;

/// After this many cuts in a row without a verdict, the rig itself is broken.
const GIVE_UP: usize = 3;

/// The number of broken cuts whose disk is kept. `ONLY=` builds it again for any cut.
const DISKS: usize = 3;

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

/// Makes missing recordings and cuts, and reports. Returns true when every cut was made and no
/// promise was broken. It does not repeat the cuts of an earlier run.
///
/// # Errors
///
/// Fails when the rig does not work.
pub async fn run(soak: Soak) -> Result<bool> {
    if soak.cuts == 0 && soak.only.is_none() {
        return page::write(&all_runs());
    }
    // The recordings are valid only for this one.
    let _joined = Joined::hold(DiskKind::Bios).await?;
    let programs = images::programs()?;
    let folder = folder(&programs)?;
    fs::create_dir_all(&folder)?;
    drop_others(&folder)?;
    let programs = keep_programs(&programs, &folder)?;
    let ground = Ground { folder, programs };
    let recorded = ground.recordings().await?;
    if let Some(index) = soak.only {
        let cuts = plan::cuts(&recorded, index + 1, soak.seed);
        return ground.make_alone(&cuts[index]).await;
    }
    let cuts = plan::cuts(&recorded, soak.cuts, soak.seed);
    let mut report = Report::read(&ground.folder, soak.seed)?;
    report.expected = Expected::of(&recorded);
    ground.make_all(&cuts, soak.jobs, report).await
}

/// Removes the recordings of other builds, gigabytes each, and the files of lanes that died. It
/// keeps their reports and the files of broken cuts.
fn drop_others(folder: &Path) -> Result<()> {
    let all = all_runs();
    let others = fs::read_dir(&all).with_context(|| all.display().to_string())?;
    for other in others {
        let other = other?.path();
        if other != folder && other.is_dir() {
            Way::ALL
                .iter()
                .try_for_each(|way| files(&other, *way).remove())?;
            tidy(&other)?;
        }
    }
    Ok(())
}

/// Removes the files of a lane that died. It keeps the files of broken cuts, of any seed.
fn tidy(folder: &Path) -> Result<()> {
    let reports = page::of_build(folder)?;
    let broken = reports.iter().flat_map(Report::broken);
    let keep: BTreeSet<PathBuf> = broken
        .flat_map(|verdict| <[PathBuf; 2]>::from(place_of(folder, &verdict.cut)))
        .collect();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("cut-") || keep.contains(&path) {
            continue;
        }
        if path.is_dir() {
            fs::remove_dir_all(&path)?;
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// A copy of our programs in `folder`, under the same name, which is part of the key. The rig of
/// another source tree builds into the same cache, and a run of hours would continue with those
/// programs.
fn keep_programs(programs: &Path, folder: &Path) -> Result<PathBuf> {
    let kept = folder.join(programs.file_name().unwrap_or_default());
    fs::create_dir_all(&kept)?;
    fs::set_permissions(&kept, fs::metadata(programs)?.permissions())?;
    for program in fs::read_dir(programs)? {
        let program = program?;
        fs::copy(program.path(), kept.join(program.file_name()))?;
    }
    Ok(kept)
}

/// The common start of all cuts in a run.
struct Ground {
    folder: PathBuf,
    programs: PathBuf,
}

impl Ground {
    async fn recordings(&self) -> Result<Vec<Recorded>> {
        let mut all = Vec::new();
        for way in Way::ALL {
            let files = files(&self.folder, way);
            if files.read(way).is_err() {
                expect_room(&self.folder)?;
                let folder = self.folder.join(way.name());
                let folder = folder.to_string_lossy();
                lanes::in_a_lane::<()>(&["soak-record", &folder], &self.programs).await?;
            }
            all.push(files.read(way)?);
        }
        Ok(all)
    }

    async fn make(&self, cut: &Cut) -> Result<Verdict> {
        expect_room(&self.folder)?;
        let (folder, cut) = (self.folder.to_string_lossy(), serde_json::to_string(cut)?);
        lanes::in_a_lane(&["soak-cut", &folder, &cut], &self.programs).await
    }

    async fn make_alone(&self, cut: &Cut) -> Result<bool> {
        self.keep_first(cut)?;
        let verdict = self.make(cut).await?;
        println!("{}", report::line(&verdict, 1, 1));
        Ok(verdict.broken.is_none())
    }

    async fn make_all(&self, cuts: &[Cut], jobs: usize, mut report: Report) -> Result<bool> {
        tidy(&self.folder)?;
        let left = report.left_of(cuts);
        if left.len() < cuts.len() {
            let made = cuts.len() - left.len();
            println!("{made} of {} cuts were made before", cuts.len());
        }
        let begun = Instant::now();
        let mut without = 0;
        let made = stream::iter(&left)
            .take_until(ctrl_c())
            .map(|cut| async move { (cut, self.make(cut).await) })
            .buffer_unordered(jobs);
        let mut made = pin!(made);
        while let Some((cut, verdict)) = made.next().await {
            match verdict {
                Ok(verdict) => {
                    without = 0;
                    let number = report.cuts.len() + 1;
                    println!("{}", report::line(&verdict, number, cuts.len()));
                    report.add(verdict)?;
                    self.drop_disk(cut, &report)?;
                }
                Err(error) => {
                    without += 1;
                    println!("cut {:>4} came to no verdict: {error:#}", cut.index);
                    self.remove_disk(cut)?;
                }
            }
            if without >= GIVE_UP {
                break;
            }
        }
        let held = report.close(begun.elapsed());
        let left = report.left_of(cuts).len();
        if without >= GIVE_UP {
            bail!(
                "{GIVE_UP} cuts in a row came to no verdict; {left} are left for the same command"
            );
        }
        if left > 0 {
            println!("{left} cuts are left: the same command makes them");
        }
        Ok(held && left == 0)
    }

    /// Moves the files of an earlier attempt aside. They show what happened, and a repeated cut may
    /// pass. The disk can be built again.
    fn keep_first(&self, cut: &Cut) -> Result<()> {
        let (dir, _) = place_of(&self.folder, cut);
        let first = format!("first-{}-{}", cut.plan, cut.index);
        let first = self.folder.join(first);
        if dir.exists() && !first.exists() {
            fs::rename(dir, first)?;
        }
        Ok(())
    }

    /// Removes a broken cut's disk. With gigabytes for each one, the disk would fill up within the
    /// night. The logs stay.
    fn drop_disk(&self, cut: &Cut, report: &Report) -> Result<()> {
        if report.broken().count() <= DISKS {
            return Ok(());
        }
        self.remove_disk(cut)
    }

    fn remove_disk(&self, cut: &Cut) -> Result<()> {
        let (dir, disk) = place_of(&self.folder, cut);
        for file in [disk, dir.join("machine/disk.qcow2")] {
            if file.exists() {
                fs::remove_file(&file)?;
            }
        }
        Ok(())
    }
}

fn expect_room(folder: &Path) -> Result<()> {
    let mut df = Command::new("df");
    df.args(["--output=avail", "--block-size=1"]).arg(folder);
    let output = df.output().context("cannot run df")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let free = text
        .lines()
        .nth(1)
        .and_then(|line| line.trim().parse::<u64>().ok());
    let free = free.with_context(|| format!("df says {text:?}"))?;
    ensure!(
        free >= ROOM,
        "{} has {} GiB free, and a cut wants {}: make room, and the same command goes on",
        folder.display(),
        free >> 30,
        ROOM >> 30
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::cache::Key;

    use crate::report::tests::verdict;

    fn names_in(folder: &Path) -> Result<BTreeSet<String>> {
        let entries = fs::read_dir(folder)?;
        entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn ground(folder: &Path) -> Ground {
        Ground {
            folder: folder.to_owned(),
            programs: PathBuf::new(),
        }
    }

    #[test]
    fn tidy_removes_leftovers_of_dead_lanes_and_keeps_broken_cuts() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let broken = verdict(3, "", 1.0);
        Report::read(folder.path(), 1)?.add(broken.clone())?;
        // Cuts of another seed, which broke nothing.
        Report::read(folder.path(), 2)?.add(verdict(3, "Failed", 1.0))?;
        let others = [(1, 4), (2, 3)].map(|(plan, index)| Cut {
            plan,
            index,
            ..broken.cut
        });
        for cut in [broken.cut].iter().chain(&others) {
            let (dir, disk) = place_of(folder.path(), cut);
            fs::create_dir(dir)?;
            fs::write(disk, "")?;
        }
        fs::create_dir(folder.path().join("upgrade"))?;
        tidy(folder.path())?;
        let left = [
            "cut-1-3",
            "cut-1-3.raw",
            "report-1.json",
            "report-2.json",
            "upgrade",
        ];
        let left = left.into_iter().map(str::to_owned).collect();
        assert_eq!(names_in(folder.path())?, left);
        Ok(())
    }

    #[test]
    fn what_others_build_meanwhile_is_none_of_a_runs_programs() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let built = folder.path().join("image-programs");
        fs::create_dir(&built)?;
        fs::write(built.join("careen-agent"), "ours")?;
        let key = |programs: &Path| anyhow::Ok(Key::default().files(programs)?.digits());
        let before = key(&built)?;
        let kept = keep_programs(&built, &folder.path().join("run"))?;
        fs::write(built.join("careen-agent"), "theirs")?;
        assert_eq!(key(&kept)?, before);
        assert_ne!(key(&built)?, before);
        Ok(())
    }

    #[test]
    fn first_journal_of_a_broken_cut_survives_its_repetitions() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let broken = verdict(3, "", 1.0).cut;
        let (dir, _) = place_of(folder.path(), &broken);
        for journal in ["of the first", "of the second", "of the third"] {
            fs::create_dir_all(&dir)?;
            fs::write(dir.join("journal.txt"), journal)?;
            ground(folder.path()).keep_first(&broken)?;
        }
        tidy(folder.path())?;
        let kept = fs::read_to_string(folder.path().join("first-1-3/journal.txt"))?;
        assert_eq!(kept, "of the first");
        Ok(())
    }

    #[test]
    fn of_many_broken_cuts_the_first_keep_their_disks() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let mut report = Report::read(folder.path(), 1)?;
        let mut kept = 0;
        for index in 0..DISKS + 2 {
            let broken = verdict(index, "", 1.0);
            let (dir, disk) = place_of(folder.path(), &broken.cut);
            fs::create_dir_all(dir.join("machine"))?;
            fs::write(&disk, "")?;
            report.add(broken.clone())?;
            ground(folder.path()).drop_disk(&broken.cut, &report)?;
            kept += usize::from(disk.exists());
            assert!(dir.exists(), "its logs are gone");
        }
        assert_eq!(kept, DISKS);
        Ok(())
    }
}
