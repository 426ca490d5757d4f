//! A small document on the disk that no power cut loses: two copies, each with a checksum. The
//! valid copy with the higher generation counts.
//!
//! A write replaces a whole copy (temporary file, fsync, rename, fsync of the folder), always the
//! older one, so that no power cut damages both. This module does not interpret the document.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use upgrade::reason::complaint;

use crate::durable;

/// The names of the two copies.
const COPIES: [&str; 2] = ["record.a", "record.b"];

/// No document can follow this generation, so it is never written and never read.
pub const LAST: u64 = u64::MAX;

/// The prefix of the checksum in a copy's last line.
const CHECKSUM: &str = "sha256:";

/// Why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
    /// A newer version wrote it, and says that this one must not read it.
    #[error("it has format {format}, and this version reads {known}")]
    Newer {
        /// Its format.
        format: u32,
        /// The newest format that this version reads.
        known: u32,
    },
    /// It is damaged.
    #[error("{0}")]
    Damaged(String),
}

/// Why a document was not written.
#[derive(Debug, Error)]
pub enum Unwritten {
    /// The one on the disk must not be overwritten.
    #[error("it is not changed: {0}")]
    Unusable(#[from] Unusable),
    /// Another process has written in the meantime.
    #[error("generation {found} is on the disk, and {offered} was offered")]
    Stale {
        /// The generation on the disk.
        found: u64,
        /// The generation to write.
        offered: u64,
    },
    /// It has the generation [`LAST`].
    #[error("its generation is the last one")]
    Last,
    /// The disk did not accept the write.
    #[error(transparent)]
    Disk(#[from] crate::Error),
}

/// The two copies of one document.
#[derive(Clone, Debug)]
pub struct Copies {
    folder: PathBuf,
    /// How messages name the copies.
    shown: String,
    /// The newest format that the caller reads.
    format: u32,
}

/// The fields of every format, which distinguish a newer document from a damaged one.
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

impl Copies {
    /// The copies in this folder. `shown` is the folder as messages name it.
    #[must_use]
    pub fn new(folder: PathBuf, shown: &str, format: u32) -> Self {
        Self {
            folder,
            shown: format!("{shown}/record.*"),
            format,
        }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The copies, as messages name them.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The document; `None` if there has never been one.
    ///
    /// # Errors
    /// It must not be used.
    pub fn read(&self) -> Result<Option<Vec<u8>>, Unusable> {
        Ok(self.newest()?.map(|copy| copy.body))
    }

    fn newest(&self) -> Result<Option<Copy>, Unusable> {
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
            Some(copy) if copy.head.min_reader > self.format => Err(Unusable::Newer {
                format: copy.head.format,
                known: self.format,
            }),
            Some(copy) => Ok(Some(copy)),
            None if damage.is_empty() => Ok(None),
            None => Err(Unusable::Damaged(format!(
                "no copy is intact ({damage}); if they are lost for good, remount /sysroot writable and remove {}",
                self.shown
            ))),
        }
    }

    /// Writes the document of this generation over the older copy.
    ///
    /// # Errors
    /// It may not be on the disk.
    pub fn write(&self, generation: u64, body: &[u8]) -> Result<(), Unwritten> {
        if generation == LAST {
            return Err(Unwritten::Last);
        }
        let newest = self.newest()?;
        if let Some(found) = &newest {
            if found.head.generation == generation && found.body == body {
                // The writer may have died before the name was on the disk.
                return Ok(durable::sync_folder(&self.folder)?);
            }
            if found.head.generation >= generation {
                let (found, offered) = (found.head.generation, generation);
                return Err(Unwritten::Stale { found, offered });
            }
        }
        durable::make_private_folder(&self.folder)?;
        let older = newest.map_or(0, |copy| 1 - copy.at);
        Ok(durable::write(
            &self.folder.join(COPIES[older]),
            &seal(body),
            0o600,
        )?)
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
    fn read(path: &Path) -> Result<Self, Unusable> {
        match fs::read(path) {
            Ok(bytes) => Ok(unseal(&bytes)
                .unwrap_or_else(|detail| Self::Damaged(format!("{}: {detail}", path.display())))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::Absent),
            Err(error) => Err(Unusable::Damaged(format!(
                "{}: {error}; this may be the newer copy, so the other one is not used. Check the node's disk; if this copy is lost for good, remount /sysroot writable and remove it",
                path.display()
            ))),
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
