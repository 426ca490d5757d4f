//! What happens to the unflushed writes at a power cut.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Result;
use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::writes::{Log, Request};

/// A drive writes whole sectors.
const SECTOR: usize = 512;
/// Current drives write whole blocks of this size.
const BLOCK: usize = 4096;
/// ext4's magic number, and its place in the superblock's block (Linux,
/// Documentation/filesystems/ext4/super.rst: `s_magic`).
const MAGIC: [u8; 2] = [0x53, 0xef];
const MAGIC_AT: usize = 1024 + 0x38;

/// What happened to the writes since the last flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// All are there: the drive had no cache, or was quick.
    Kept,
    /// All are lost.
    Lost,
    /// Some are there, in no order, and some of those in part.
    Torn,
}

impl Fate {
    /// The number of the log's requests that are on the disk for certain, after a cut that follows
    /// this many.
    #[must_use]
    pub fn safe(self, log: &Log, after: usize) -> usize {
        match self {
            Self::Kept => after,
            Self::Lost | Self::Torn => last_flush(made(log, after)),
        }
    }
}

/// The disk requests before the cut.
fn made(log: &Log, after: usize) -> &[Request] {
    log.requests.get(..after).unwrap_or(&log.requests)
}

/// The position of the last flush. Every request before it is durable.
fn last_flush(requests: &[Request]) -> usize {
    let flushed = |request: &Request| *request == Request::Flush;
    requests.iter().rposition(flushed).unwrap_or(0)
}

/// Writes a machine's first `after` disk requests to a raw disk, as far as a cut after them leaves
/// them there.
///
/// # Errors
///
/// Fails when it cannot be written.
pub fn write(log: &Log, after: usize, fate: Fate, seed: u64, disk: &Path) -> Result<()> {
    let disk = File::options().write(true).open(disk)?;
    let before = made(log, after);
    let safe = last_flush(before);
    let mut rng = Rng::with_seed(seed);
    // One cut keeps most of it, another almost nothing.
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
        match fate {
            _ if at < safe => disk.write_all_at(&data, place)?,
            Fate::Kept => disk.write_all_at(&data, place)?,
            Fate::Torn if rng.f64() < kept => tear(&disk, place, &data, &mut rng)?,
            Fate::Torn | Fate::Lost => {}
        }
    }
    Ok(())
}

/// Usually keeps the whole write; otherwise its beginning, or any of its sectors.
fn tear(disk: &File, place: u64, data: &[u8], rng: &mut Rng) -> Result<()> {
    let there = rng.usize(..=data.len() / SECTOR);
    let way = rng.u8(..8);
    for (at, sector) in data.chunks(SECTOR).enumerate() {
        let lost = match way {
            0 => at >= there,
            1 => rng.bool(),
            _ => false,
        };
        if !lost || comes_whole(data, at) {
            disk.write_all_at(sector, place + (at * SECTOR) as u64)?;
        }
    }
    Ok(())
}

/// Whether this sector arrives together with its whole block. This is so if the block is the whole
/// write, or if it contains ext4's superblock. The kernel writes the superblock in one request with
/// the blocks after it. ext4 does not survive a torn one: it verifies its checksum before the
/// journal.
fn comes_whole(data: &[u8], sector: usize) -> bool {
    let begin = sector * SECTOR / BLOCK * BLOCK;
    let block = data.get(begin..).unwrap_or_default();
    data.len() <= BLOCK || block.get(MAGIC_AT..MAGIC_AT + 2) == Some(&MAGIC[..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writes::tests::{FLUSHED, log, written};

    /// Two flushed writes and two unflushed ones, each of a sector with its own number.
    fn disk_after(fate: Fate, after: usize, seed: u64) -> Vec<u8> {
        let entries = [
            written(1),
            written(2),
            FLUSHED.to_vec(),
            written(3),
            written(4),
        ];
        let file = log(&entries);
        let mut log = Log::open(file.path()).unwrap();
        log.read_on().unwrap();
        let disk = tempfile::NamedTempFile::new().unwrap();
        disk.as_file().set_len(5 * 512).unwrap();
        write(&log, after, fate, seed, disk.path()).unwrap();
        let bytes = std::fs::read(disk.path()).unwrap();
        bytes.chunks(512).map(|sector| sector[0]).collect()
    }

    #[test]
    fn what_was_flushed_is_there_whatever_becomes_of_the_rest() {
        for seed in 0..20 {
            for fate in [Fate::Kept, Fate::Lost, Fate::Torn] {
                assert_eq!(disk_after(fate, 5, seed)[..3], [0, 1, 2], "{fate:?}");
            }
        }
    }

    #[test]
    fn what_was_not_flushed_is_kept_lost_or_there_in_any_order() {
        assert_eq!(disk_after(Fate::Kept, 5, 1), [0, 1, 2, 3, 4]);
        assert_eq!(disk_after(Fate::Lost, 5, 1), [0, 1, 2, 0, 0]);
        let torn: std::collections::BTreeSet<_> = (0..100)
            .map(|seed| disk_after(Fate::Torn, 5, seed))
            .collect();
        let later_without_earlier = vec![0, 1, 2, 0, 4];
        assert!(torn.contains(&later_without_earlier), "{torn:?}");
    }

    /// What is left of a write of three blocks. Each byte is a 7 except for what `mark` changes.
    fn torn(seed: u64, mark: impl Fn(&mut [u8])) -> Vec<u8> {
        let mut data = vec![7; 3 * BLOCK];
        mark(&mut data);
        let disk = tempfile::NamedTempFile::new().unwrap();
        disk.as_file().set_len(3 * BLOCK as u64).unwrap();
        let file = File::options().write(true).open(disk.path()).unwrap();
        tear(&file, 0, &data, &mut Rng::with_seed(seed)).unwrap();
        std::fs::read(disk.path()).unwrap()
    }

    #[test]
    fn a_superblock_is_never_torn_though_the_blocks_beside_it_are() {
        let is_whole = |block: &[u8]| !block.contains(&0);
        let superblock = |data: &mut [u8]| data[MAGIC_AT..][..2].copy_from_slice(&MAGIC);
        let marked: Vec<_> = (0..100).map(|seed| torn(seed, superblock)).collect();
        assert!(marked.iter().all(|there| is_whole(&there[..BLOCK])));
        assert!(marked.iter().any(|there| !is_whole(&there[BLOCK..])));
        let others = (0..100).map(|seed| torn(seed, |_| {}));
        assert!(others.into_iter().any(|there| !is_whole(&there[..BLOCK])));
    }

    #[test]
    fn what_came_behind_the_cut_never_was() {
        assert_eq!(disk_after(Fate::Kept, 4, 1), [0, 1, 2, 3, 0]);
        assert_eq!(disk_after(Fate::Kept, 1, 1), [0, 1, 0, 0, 0]);
        // Nothing was flushed yet.
        assert_eq!(disk_after(Fate::Lost, 2, 1), [0, 0, 0, 0, 0]);
    }
}
