//! A machine's disk requests in order. QEMU's filter `blklogwrites` writes this log in the format
//! of Linux's dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst; QEMU's
//! block/blklogwrites.c).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
const DEFAULT_SECTOR: u64 = 512;
/// Sector, number of sectors, flags, length of the data: eight bytes each, then padding up to a
/// sector.
const HEADER: usize = 32;
const FLUSH: u64 = 1;
const DISCARD: u64 = 4;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Writes this many bytes, kept at `log` in the log, to `disk`.
    Write {
        /// Where on the disk.
        disk: u64,
        /// Where in the log.
        log: u64,
        /// How many bytes.
        length: u64,
    },
    /// The data is not needed any more. A drive may keep it or not; here it does.
    Discard,
    /// Everything written before is durable from here on.
    Flush,
}

/// A log that may still grow.
#[derive(Debug)]
pub struct Log {
    file: File,
    sector: u64,
    next: u64,
    /// The requests found so far.
    pub requests: Vec<Request>,
}

impl Log {
    /// Opens a log.
    ///
    /// # Errors
    ///
    /// Fails when it is not a log, or has an unknown version.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let mut head = [0; 28];
        file.read_exact_at(&mut head, 0)
            .context("a log of writes begins with its superblock")?;
        let sector = sector(&head).with_context(|| path.display().to_string())?;
        Ok(Self {
            file,
            sector,
            next: sector,
            requests: Vec::new(),
        })
    }

    /// A log that consists only of its requests, without their bytes.
    ///
    /// # Errors
    ///
    /// Fails when there is no `/dev/null`.
    pub fn of(requests: Vec<Request>) -> Result<Self> {
        Ok(Self {
            file: File::open("/dev/null")?,
            sector: DEFAULT_SECTOR,
            next: DEFAULT_SECTOR,
            requests,
        })
    }

    /// Reads to the current end of the log.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be read.
    pub fn read_on(&mut self) -> Result<usize> {
        while let Some(request) = self.read_one()? {
            self.requests.push(request);
        }
        Ok(self.requests.len())
    }

    /// An entry that is not written yet is zero; no real one is.
    fn read_one(&mut self) -> Result<Option<Request>> {
        let mut head = [0; HEADER];
        if self.file.read_at(&mut head, self.next)? < HEADER || head == [0; HEADER] {
            return Ok(None);
        }
        let (place, sectors, flags) = (number(&head, 0), number(&head, 8), number(&head, 16));
        let (log, length) = (self.next + self.sector, sectors * self.sector);
        let discards = flags & DISCARD != 0;
        self.next = if discards { log } else { log + length };
        Ok(Some(if discards {
            Request::Discard
        } else if flags & FLUSH != 0 && sectors == 0 {
            Request::Flush
        } else {
            let disk = place * self.sector;
            Request::Write { disk, log, length }
        }))
    }

    /// The length of the log read so far, in bytes. QEMU reserves much more space after it.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.next
    }

    /// The bytes of a write.
    ///
    /// # Errors
    ///
    /// Fails when the log does not contain them.
    pub fn data(&self, log: u64, length: u64) -> Result<Vec<u8>> {
        let mut data = vec![0; usize::try_from(length)?];
        self.file.read_exact_at(&mut data, log)?;
        Ok(data)
    }
}

/// The sector size in the superblock. QEMU writes the superblock with the first flush; entries
/// before that use the default.
fn sector(head: &[u8; 28]) -> Result<u64> {
    if *head == [0; 28] {
        return Ok(DEFAULT_SECTOR);
    }
    ensure!(
        number(head, 0) == MAGIC && number(head, 8) == VERSION,
        "this is no log of writes of version {VERSION}"
    );
    let sector = u64::from(u32::from_le_bytes([head[24], head[25], head[26], head[27]]));
    ensure!(sector >= DEFAULT_SECTOR, "a sector of {sector} bytes");
    Ok(sector)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The entry of a flush, with its flag at byte 16.
    pub const FLUSHED: [u8; 512] = {
        let mut entry = [0; 512];
        entry[16] = 1;
        entry
    };

    fn entry(place: u64, sectors: u64, flags: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = [place, sectors, flags, 0]
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        bytes.resize(512, 0);
        bytes
    }

    /// The entry and the bytes of a write to the sector with this number, filled with it.
    pub fn written(sector: u8) -> Vec<u8> {
        [entry(u64::from(sector), 1, 0), vec![sector; 512]].concat()
    }

    /// A log of these entries, as QEMU leaves it.
    pub fn log(entries: &[Vec<u8>]) -> tempfile::NamedTempFile {
        let mut bytes = Vec::new();
        for number in [MAGIC, VERSION, 0, 512] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.resize(512, 0);
        bytes.extend(entries.concat());
        bytes.resize(bytes.len() + 4096, 0);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn log_reads_writes_flushes_and_discards_in_order() {
        let file = log(&[
            entry(8, 1, 0),
            vec![7; 512],
            entry(0, 0, FLUSH),
            entry(64, 100, DISCARD),
            entry(9, 2, 0),
            vec![9; 1024],
        ]);
        let mut log = Log::open(file.path()).unwrap();
        assert_eq!(log.read_on().unwrap(), 4);
        let write = |disk, log, length| Request::Write { disk, log, length };
        assert_eq!(
            log.requests,
            [
                write(4096, 1024, 512),
                Request::Flush,
                Request::Discard,
                write(4608, 3072, 1024)
            ]
        );
        assert_eq!(log.data(3072, 1024).unwrap(), [9; 1024]);
    }

    #[test]
    fn a_log_that_grows_is_read_on_from_where_it_ended() {
        let file = log(&[entry(0, 0, FLUSH)]);
        let mut log = Log::open(file.path()).unwrap();
        assert_eq!(log.read_on().unwrap(), 1);
        let more = File::options().write(true).open(file.path()).unwrap();
        more.write_all_at(&entry(0, 0, FLUSH), 1024).unwrap();
        assert_eq!(log.read_on().unwrap(), 2);
    }

    #[test]
    fn a_log_that_no_flush_has_closed_yet_is_read_all_the_same() {
        let file = log(&[entry(8, 1, 0), vec![7; 512]]);
        let begin = File::options().write(true).open(file.path()).unwrap();
        begin.write_all_at(&[0; 512], 0).unwrap();
        let mut log = Log::open(file.path()).unwrap();
        assert_eq!(log.read_on().unwrap(), 1);
    }

    #[test]
    fn something_else_is_no_log() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1; 4096]).unwrap();
        assert!(Log::open(file.path()).is_err());
    }
}
