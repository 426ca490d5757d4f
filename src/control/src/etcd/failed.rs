//! Why a member did not answer.

use std::io;
use std::time::Duration;

use hyper::StatusCode;
use thiserror::Error;

/// Why a member did not answer.
#[derive(Debug, Error)]
pub enum Failed {
    /// The time is over.
    #[error("no answer in {} s", .0.as_secs_f32())]
    Late(Duration),
    /// No connection, or TLS failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The answer broke off.
    #[error("{}", client::chain(.0))]
    Http(#[from] hyper::Error),
    /// The answer is too long or broke off.
    #[error("its answer cannot be read: {0}")]
    Body(String),
    /// It refused.
    #[error("it answered {status}: {said}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// What it said.
        said: String,
    },
    /// Nobody could ask so.
    #[error("{0}")]
    Ours(#[from] hyper::http::Error),
}
