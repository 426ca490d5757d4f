//! One line of a ledger.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::disk::Owner;

/// What was at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was")]
pub enum Before {
    /// Nothing.
    Absent,
    /// A file. Its content is beside the entry.
    File {
        /// Its owner and mode.
        owner: Owner,
    },
    /// A link.
    Link {
        /// Where it led.
        target: PathBuf,
    },
    /// Nothing, and a folder was made.
    NoFolder,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The absolute path.
    pub path: String,
    /// What was there.
    #[serde(flatten)]
    pub before: Before,
    /// The SHA-256 of what was written.
    pub wrote: String,
}

impl Entry {
    pub(super) fn new(path: &str, before: Before, wrote: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            before,
            wrote: sum(wrote),
        }
    }
}

pub(super) fn sum(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}
