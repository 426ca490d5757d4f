//! The record on the disk: two copies, each with a checksum. The record is the valid copy with the
//! higher generation.
//!
//! A write replaces a whole copy (temporary file, fsync, rename, fsync of the folder), always the
//! older one, so that no power cut damages both. This module does not interpret the record.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use upgrade::decide::RecordRead;
use upgrade::reason::complaint;
use upgrade::record::FORMAT;
use upgrade::{Reason, Record, RecordStore, names};

use crate::durable;

/// The names of the two copies.
const COPIES: [&str; 2] = ["record.a", "record.b"];

/// No record can follow this generation, so it is never written and never read.
const LAST: u64 = u64::MAX;

/// The prefix of the checksum in a copy's last line.
const CHECKSUM: &str = "sha256:";

/// Why a record was not written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The record on the disk must not be overwritten.
    #[error("the record is not changed: {0}")]
    Unreadable(#[from] Reason),
    /// Another process has written in the meantime.
    #[error(
        "the record on the disk has generation {found}, this one {offered}. Read it again and decide again"
    )]
    Stale {
        /// The generation on the disk.
        found: u64,
        /// The generation to write.
        offered: u64,
    },
    /// It could not be read back: see [`LAST`].
    #[error(
        "the record's generation {LAST} is the last one. Check the node, then remove /sysroot/{}/record.*",
        names::STATE_DIR
    )]
    Last,
    /// The disk did not accept the write.
    #[error("cannot write the record: {0}")]
    Disk(#[from] crate::Error),
    /// The record cannot be encoded as JSON; impossible with the current types.
    #[error("cannot encode the record: {0}")]
    Encode(#[from] serde_json::Error),
}

impl StoreError {
    /// The reason for the Node.
    #[must_use]
    pub fn reason(&self) -> Reason {
        let detail = match self {
            Self::Unreadable(reason) => return reason.clone(),
            Self::Disk(error) => error.to_string(),
            Self::Stale { .. } | Self::Last | Self::Encode(_) => self.to_string(),
        };
        Reason::RecordUnwritten { detail }
    }
}

/// The record of one node.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The record below a physical root.
    #[must_use]
    pub fn new(sysroot: &Path) -> Self {
        Self {
            folder: sysroot.join(names::STATE_DIR),
        }
    }

    /// The folder of the record, for files that belong beside it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the record: the default if there has never been one, the reason if it must not be
    /// used.
    ///
    /// # Errors
    /// [`Reason::RecordNewer`] and [`Reason::RecordDamaged`].
    pub fn read(&self) -> RecordRead {
        self.newest()?
            .map_or_else(|| Ok(Record::default()), |copy| copy.record())
    }

    fn newest(&self) -> Result<Option<Copy>, Reason> {
        let [first, second] = COPIES.map(|name| Slot::read(&self.folder.join(name)));
        let slots = [first?, second?];
        let damage = slots
            .iter()
            .filter_map(Slot::damage)
            .collect::<Vec<_>>()
            .join("; ");
        let valid = slots
            .into_iter()
            .enumerate()
            .filter_map(|(at, slot)| slot.valid(at));
        match valid.max_by_key(|copy| copy.head.generation) {
            Some(copy) if copy.head.min_reader > FORMAT => Err(Reason::RecordNewer {
                format: copy.head.format,
                known: FORMAT,
            }),
            Some(copy) => Ok(Some(copy)),
            None if damage.is_empty() => Ok(None),
            None => Err(Reason::RecordDamaged {
                detail: format!(
                    "no copy is whole ({damage}); check the node, then remount /sysroot writable and remove /sysroot/{}/record.*",
                    names::STATE_DIR
                ),
            }),
        }
    }
}

impl RecordStore for Store {
    type Error = StoreError;

    fn store(&mut self, record: &Record) -> Result<(), StoreError> {
        if record.generation == LAST {
            return Err(StoreError::Last);
        }
        let body = serde_json::to_vec_pretty(record)?;
        let newest = self.newest()?;
        if let Some(found) = &newest {
            if found.head.generation == record.generation && found.body == body {
                // The writer may have died before the name was on the disk.
                return Ok(durable::sync_folder(&self.folder)?);
            }
            if found.head.generation >= record.generation {
                let (found, offered) = (found.head.generation, record.generation);
                return Err(StoreError::Stale { found, offered });
            }
        }
        durable::make_private_folder(&self.folder)?;
        let older = newest.map_or(0, |copy| 1 - copy.at);
        Ok(durable::write(
            &self.folder.join(COPIES[older]),
            &seal(&body),
            0o600,
        )?)
    }
}

/// The fields of every format, which distinguish a newer record from a damaged one.
#[derive(Deserialize)]
struct Head {
    format: u32,
    min_reader: u32,
    generation: u64,
}

/// A copy whose checksum is valid.
struct Copy {
    at: usize,
    head: Head,
    body: Vec<u8>,
}

impl Copy {
    fn record(&self) -> RecordRead {
        serde_json::from_slice(&self.body).map_err(|error| Reason::RecordDamaged {
            detail: format!(
                "it is whole, but this version cannot read it ({}); boot or install the version that wrote it",
                complaint(&error)
            ),
        })
    }
}

enum Slot {
    Absent,
    Damaged(String),
    Sealed(Head, Vec<u8>),
}

impl Slot {
    /// Reads a copy. One that could not be read because of a failing disk or a missing file
    /// descriptor may be whole and newer, so the other copy is not used in its place.
    fn read(path: &Path) -> Result<Self, Reason> {
        match fs::read(path) {
            Ok(bytes) => Ok(unseal(&bytes)
                .unwrap_or_else(|detail| Self::Damaged(format!("{}: {detail}", path.display())))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::Absent),
            Err(error) => Err(Reason::RecordDamaged {
                detail: format!(
                    "{}: {error}; this may be the newer copy, so the other one is not used. Check the node's disk; if this copy is lost for good, remount /sysroot writable and remove it",
                    path.display()
                ),
            }),
        }
    }

    fn damage(&self) -> Option<&str> {
        match self {
            Self::Damaged(detail) => Some(detail),
            Self::Absent | Self::Sealed(..) => None,
        }
    }

    fn valid(self, at: usize) -> Option<Copy> {
        match self {
            Self::Sealed(head, body) => Some(Copy { at, head, body }),
            Self::Absent | Self::Damaged(_) => None,
        }
    }
}

fn seal(body: &[u8]) -> Vec<u8> {
    let sum = hex::encode(Sha256::digest(body));
    [body, format!("\n{CHECKSUM}{sum}\n").as_bytes()].concat()
}

fn unseal(bytes: &[u8]) -> Result<Slot, String> {
    let text = bytes
        .strip_suffix(b"\n")
        .ok_or("no checksum line at the end")?;
    let end = text
        .iter()
        .rposition(|byte| *byte == b'\n')
        .ok_or("no checksum line at the end")?;
    let body = &text[..end];
    if seal(body) != bytes {
        return Err("the checksum does not match".to_owned());
    }
    let head: Head = serde_json::from_slice(body).map_err(|error| complaint(&error))?;
    if head.generation == LAST {
        return Err("its generation is the last one, so no record can follow it".to_owned());
    }
    Ok(Slot::Sealed(head, body.to_vec()))
}
