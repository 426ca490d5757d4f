//! Errors of access to a node's files.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use upgrade::Reason;

use crate::trust::Fault;

/// An error that names the operation and the file.
#[derive(Debug, Error)]
pub enum Error {
    /// The system call failed.
    #[error("{doing} {path}: {source}")]
    Io {
        /// The verb, such as "reading".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file exists but does not have the required form.
    #[error("{path} is damaged: {detail}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what is accepted.
        detail: String,
    },
    /// Users other than root can write something that root relies on.
    #[error("{}", .0.with_its_fix())]
    Untrusted(Fault),
    /// An error that has a [`Reason`].
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

    /// Whether the file does not exist.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Adds the file to the error of a system call.
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
