//! Errors that name the operation and the file.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// An error.
#[derive(Debug, Error)]
pub enum Error {
    /// The system call failed.
    #[error("{doing} {}: {source}. Check the disk and repeat.", .path.display())]
    Io {
        /// The verb, such as "reading".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file exists but does not have the required form.
    #[error("{} is not usable: {detail}.", .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what is accepted.
        detail: String,
    },
    /// The bootstrap data of this claim have run, or have begun to.
    #[error("claim {claim} has run its bootstrap data: they never run twice. Replace the Machine.")]
    Twice {
        /// The claim.
        claim: life::ClaimId,
    },
    /// The bootstrap data are refused.
    #[error("the bootstrap data are refused: {0}")]
    Refused(#[from] cloud_config::Refused),
    /// An error of the access to the node.
    #[error(transparent)]
    Host(#[from] host::Error),
}

/// Shorthand.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn unusable(path: &Path, detail: impl Into<String>) -> Self {
        Self::Unusable {
            path: path.to_owned(),
            detail: detail.into(),
        }
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

/// `None` where the file does not exist.
pub(crate) fn if_there<T>(
    result: io::Result<T>,
    doing: &'static str,
    path: &Path,
) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(error).at(doing, path),
    }
}
