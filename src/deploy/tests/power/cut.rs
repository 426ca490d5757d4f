//! One power cut: when, and what became of the writes that no flush had made safe.

use fastrand::Rng;

use crate::disk::{Disk, Op, Which};
use crate::recording::Recording;

/// A drive writes sectors whole.
const SECTOR: usize = 512;

/// What became of a disk's writes since its last flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Lost,
    Kept,
    /// Some are there, in no order, and some of those in part.
    Torn,
}

#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Its place in the plan.
    pub index: usize,
    /// How many operations had been given to the disks.
    pub at: usize,
    /// Of the root's disk and that of /boot.
    pub fates: [Fate; 2],
    /// Chooses what is torn, and how the node goes on.
    pub seed: u64,
}

impl Cut {
    /// The disks as the power comes back.
    pub fn disks(&self, recording: &Recording) -> [Disk; 2] {
        let mut rng = Rng::with_seed(self.seed);
        let [root, boot] = self.fates;
        [(Which::Root, root), (Which::Boot, boot)].map(|(which, fate)| {
            let mut disk = recording.base[which as usize].clone();
            let before = &recording.log[..self.at];
            let flushed = |op: &Op| matches!(op, Op::Flush { disk } if *disk == which);
            let safe = before.iter().rposition(flushed).unwrap_or(0);
            // In one cut most of it is there, in another next to nothing.
            let kept = [0.1, 0.5, 0.9][rng.usize(..3)];
            for (at, op) in before.iter().enumerate() {
                let Op::Write {
                    disk: of,
                    offset,
                    data,
                } = op
                else {
                    continue;
                };
                if *of != which {
                    continue;
                }
                match fate {
                    _ if at < safe => disk.write(*offset, data),
                    Fate::Kept => disk.write(*offset, data),
                    Fate::Torn if rng.f64() < kept => tear(&mut disk, *offset, data, &mut rng),
                    Fate::Torn | Fate::Lost => {}
                }
            }
            disk
        })
    }
}

/// ext4's superblock, which is no larger than what drives write whole nowadays. ext4 itself does
/// not survive it torn: the checksum is wrong then, and neither the kernel nor `e2fsck -p` goes on.
const SUPERBLOCK: u64 = 4096;

/// Mostly the write as a whole; else its beginning, or any of its sectors.
fn tear(disk: &mut Disk, offset: u64, data: &[u8], rng: &mut Rng) {
    let sectors = data.len() / SECTOR;
    let there = rng.usize(..=sectors);
    let way = rng.u8(..8);
    for (at, sector) in data.chunks(SECTOR).enumerate() {
        let lost = match way {
            0 => at >= there,
            1 => rng.bool(),
            _ => false,
        };
        let place = offset + (at * SECTOR) as u64;
        if !lost || place < SUPERBLOCK {
            disk.write(place, sector);
        }
    }
}
