//! The record on the disk, in two copies ([`crate::copies`]).

use std::path::Path;

use thiserror::Error;
use upgrade::decide::RecordRead;
use upgrade::reason::complaint;
use upgrade::record::FORMAT;
use upgrade::{Reason, Record, RecordStore, names};

use crate::copies::{Copies, LAST, Unusable, Unwritten};

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
    copies: Copies,
}

impl Store {
    /// The record below a physical root.
    #[must_use]
    pub fn new(sysroot: &Path) -> Self {
        let folder = sysroot.join(names::STATE_DIR);
        let shown = format!("/sysroot/{}", names::STATE_DIR);
        Self {
            copies: Copies::new(folder, &shown, FORMAT),
        }
    }

    /// The folder of the record, for files that belong beside it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.copies.folder()
    }

    /// Reads the record: the default if there has never been one, the reason if it must not be
    /// used.
    ///
    /// # Errors
    /// [`Reason::RecordNewer`] and [`Reason::RecordDamaged`].
    pub fn read(&self) -> RecordRead {
        match self.copies.read().map_err(reason)? {
            None => Ok(Record::default()),
            Some(body) => record(&body),
        }
    }
}

impl RecordStore for Store {
    type Error = StoreError;

    fn store(&mut self, record: &Record) -> Result<(), StoreError> {
        let body = serde_json::to_vec_pretty(record)?;
        self.copies
            .write(record.generation, &body)
            .map_err(|error| match error {
                Unwritten::Unusable(why) => StoreError::Unreadable(reason(why)),
                Unwritten::Stale { found, offered } => StoreError::Stale { found, offered },
                Unwritten::Last => StoreError::Last,
                Unwritten::Disk(error) => StoreError::Disk(error),
            })
    }
}

fn reason(why: Unusable) -> Reason {
    match why {
        Unusable::Newer { format, known } => Reason::RecordNewer { format, known },
        Unusable::Damaged(detail) => Reason::RecordDamaged { detail },
    }
}

fn record(body: &[u8]) -> RecordRead {
    serde_json::from_slice(body).map_err(|error| Reason::RecordDamaged {
        detail: format!(
            "it is whole, but this version cannot read it ({}); boot or install the version that wrote it",
            complaint(&error)
        ),
    })
}
