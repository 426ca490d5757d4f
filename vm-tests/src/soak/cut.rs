//! One power cut: after how many requests, and what became of the writes that no flush had made safe.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde::{Deserialize, Serialize};

use super::writes::{Log, Request};

/// A drive writes sectors whole.
const SECTOR: usize = 512;
/// ext4's superblocks lie in the first block of a partition, which drives write whole nowadays; ext4 does not survive one torn.
const BLOCK: u64 = 4096;

/// What became of the writes since the last flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// The drive had no cache, or was quick.
    Kept,
    /// All are gone.
    Lost,
    /// Some are there, in no order, and some of those in part.
    Torn,
}

/// A power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Its place in the plan.
    pub index: usize,
    /// So many requests had been made.
    pub after: usize,
    /// What became of those that were not safe.
    pub fate: Fate,
    /// Chooses what is torn.
    pub seed: u64,
    /// The upgrade is let go on afterwards; else the request is taken back as soon as the node is up, where that is still possible.
    pub goes_on: bool,
}

impl Cut {
    /// Makes the disk as it is when the power comes back: a raw file at `to`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn make_disk(&self, base: &Path, log: &Log, to: &Path) -> Result<()> {
        copy(base, to)?;
        let disk = File::options().write(true).open(to)?;
        let before = log.requests.get(..self.after).unwrap_or(&log.requests);
        let flushed = |request: &Request| *request == Request::Flush;
        let safe = before.iter().rposition(flushed).unwrap_or(0);
        let mut rng = Rng::with_seed(self.seed);
        // In one cut most of it is there, in another next to nothing.
        let kept = [0.1, 0.5, 0.9][rng.usize(..3)];
        for (at, request) in before.iter().enumerate() {
            let Request::Write {
                disk: place,
                log: there,
                length,
            } = *request
            else {
                continue;
            };
            let data = log.data(there, length)?;
            match self.fate {
                _ if at < safe => disk.write_all_at(&data, place)?,
                Fate::Kept => disk.write_all_at(&data, place)?,
                Fate::Torn if rng.f64() < kept => tear(&disk, place, &data, &mut rng)?,
                Fate::Torn | Fate::Lost => {}
            }
        }
        Ok(())
    }
}

fn copy(base: &Path, to: &Path) -> Result<()> {
    let mut copy = Command::new("cp");
    copy.arg("--sparse=always").arg(base).arg(to);
    let status = copy.status().context("cannot run cp")?;
    ensure!(status.success(), "cp {}: {status}", base.display());
    Ok(())
}

/// Mostly the write as a whole; else its beginning, or any of its sectors.
fn tear(disk: &File, place: u64, data: &[u8], rng: &mut Rng) -> Result<()> {
    let there = rng.usize(..=data.len() / SECTOR);
    let way = rng.u8(..8);
    for (at, sector) in data.chunks(SECTOR).enumerate() {
        let lost = match way {
            0 => at >= there,
            1 => rng.bool(),
            _ => false,
        };
        let block_of_its_own = data.len() as u64 <= BLOCK;
        if !lost || block_of_its_own {
            disk.write_all_at(sector, place + (at * SECTOR) as u64)?;
        }
    }
    Ok(())
}
