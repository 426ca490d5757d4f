//! The record of a host on the disk, in two copies.

use host::copies::{Copies, Unusable, Unwritten};
use life::record::FORMAT;
use life::{Reason, Record, RecordRead};
use upgrade::names;
use upgrade::reason::complaint;

use crate::paths::Paths;

/// The record.
#[derive(Clone, Debug)]
pub struct Store {
    copies: Copies,
}

impl Store {
    /// The record of the host with these folders.
    #[must_use]
    pub fn new(paths: &Paths) -> Self {
        let shown = format!("/sysroot/{}/host", names::STATE_DIR);
        Self {
            copies: Copies::new(paths.state(), &shown, FORMAT),
        }
    }

    /// Reads it: the default if there has never been one.
    ///
    /// # Errors
    /// It must not be used.
    pub fn read(&self) -> RecordRead {
        match self.copies.read() {
            Ok(None) => Ok(Record::default()),
            Ok(Some(body)) => record(&body),
            Err(why) => Err(reason(&why)),
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// It may not be on the disk.
    pub fn write(&self, record: &Record) -> Result<(), Unwritten> {
        let body = serde_json::to_vec_pretty(record)
            .map_err(|error| Unusable::Damaged(complaint(&error)))?;
        self.copies.write(record.generation, &body)
    }
}

fn record(body: &[u8]) -> RecordRead {
    serde_json::from_slice(body).map_err(|error| Reason::RecordUnread {
        detail: format!(
            "it is whole, but this version cannot read it ({}). Install the version that wrote it.",
            complaint(&error)
        ),
    })
}

fn reason(why: &Unusable) -> Reason {
    Reason::RecordUnread {
        detail: format!("{why}."),
    }
}
