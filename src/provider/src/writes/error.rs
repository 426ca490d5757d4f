//! Why a write failed, and the limit of its time.

use client::{NoAnswer, chain};
use thiserror::Error;

use crate::engine::clean;
use crate::watch::WatchError;

/// Why a write failed, and how to react.
#[derive(Debug, Error)]
pub enum WriteError {
    /// Another writer was faster: look again.
    #[error("another client changed the object")]
    Conflict,
    /// The object is gone: look again.
    #[error("the object does not exist")]
    Missing,
    /// The server did not answer, or asked to wait: retry after a pause.
    #[error("no answer: {0}")]
    Away(String),
    /// A retry does not help; a person must look.
    #[error("refused: {0}")]
    Refused(String),
    /// Another replica must write this: look again.
    #[error("only the leading replica writes requests to nodes, and it did not write this one yet")]
    Follows,
}

impl WriteError {
    /// The class, used as a metric label.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Missing => "missing",
            Self::Away(_) => "away",
            Self::Refused(_) => "refused",
            Self::Follows => "follows",
        }
    }
}

impl From<NoAnswer> for WriteError {
    fn from(NoAnswer(limit): NoAnswer) -> Self {
        Self::Away(format!("no answer within {limit:?}"))
    }
}

impl From<kube::Error> for WriteError {
    fn from(error: kube::Error) -> Self {
        let kube::Error::Api(status) = error else {
            return Self::Away(clean(&chain(&error)));
        };
        // The text comes from a server that may lie, and reaches conditions, Events and the log.
        let said = || format!("{} ({})", clean(&status.message), status.code);
        match status.code {
            409 => Self::Conflict,
            404 => Self::Missing,
            401 | 408 | 429 | 500..=599 => Self::Away(said()),
            _ => Self::Refused(said()),
        }
    }
}

impl From<WatchError> for WriteError {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Refused(text) => Self::Refused(text),
            WatchError::Missing(_) => Self::Missing,
            WatchError::Away(text) | WatchError::TooLong(text) => Self::Away(text),
        }
    }
}

/// Cancels a request after [`crate::watch::ANSWER`].
///
/// # Errors
/// The request's error, or [`WriteError::Away`].
pub async fn limited<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, WriteError> {
    client::in_time(crate::watch::ANSWER, request).await
}
