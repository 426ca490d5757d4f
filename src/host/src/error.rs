//! What can go wrong with a node's files.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use upgrade::Reason;

use crate::trust::Fault;

/// An error that says what was done to which file.
#[derive(Debug, Error)]
pub enum Error {
    /// The system call failed.
    #[error("{doing} {path}: {source}")]
    Io {
        /// The verb, as "reading".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is there, but is not what it must be.
    #[error("{path} is damaged: {detail}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// In what way, and what is accepted.
        detail: String,
    },
    /// Somebody else than root may write what root goes by.
    #[error("{}", .0.with_its_fix())]
    Untrusted(Fault),
    /// The brain has a name for it.
    #[error(transparent)]
    Reason(#[from] Reason),
}

/// Shorthand.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn damaged(path: &Path, detail: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            detail: detail.into(),
        }
    }

    /// Whether the file is simply not there.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Names the file that a system call failed on.
pub(crate) trait At<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T, E: Into<io::Error>> At<T> for std::result::Result<T, E> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io {
            doing,
            path: path.to_owned(),
            source: source.into(),
        })
    }
}
