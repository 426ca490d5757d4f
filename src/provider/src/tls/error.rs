//! Why there is no certificate to serve with.

use thiserror::Error;

/// Why there is no certificate to serve with.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file or a PEM text is not usable.
    #[error("cannot use {what}: {detail}. Correct it.")]
    Unusable {
        /// Its name.
        what: String,
        /// The reason.
        detail: String,
    },
    /// The Secret cannot be read or written.
    #[error("cannot read or write Secret {name}: {error}. Check that Secret and the rights to it.")]
    Secret {
        /// Its name.
        name: String,
        /// The error.
        error: crate::writes::WriteError,
    },
}

/// A file or a PEM text that is not usable.
pub(super) fn unusable(what: &str, detail: impl ToString) -> TlsError {
    TlsError::Unusable {
        what: what.to_owned(),
        detail: detail.to_string(),
    }
}
