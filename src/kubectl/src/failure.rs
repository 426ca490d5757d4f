//! All failures, each with the exit code of the program.

use std::io;

use client::{NoAnswer, chain};
use kube::core::Status;
use thiserror::Error;

use crate::exit::Exit;
use upgrade::sanitize;

/// Why a command failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line is wrong in a way that clap does not detect.
    #[error("{0}")]
    Usage(String),
    /// No API server answers.
    #[error("cannot reach the API server: {0}")]
    Unreachable(String),
    /// The API server answers, but is overloaded, unhealthy or does not know the user.
    #[error("the API server answers with an error: {0}")]
    Unwell(String),
    /// The user lacks a permission.
    #[error("{0}; the page about kubectl careen lists, under Rights, what each command needs")]
    Forbidden(String),
    /// The node does not exist.
    #[error("{0}")]
    Missing(String),
    /// The state of a node does not allow it.
    #[error("{0}")]
    Refused(String),
    /// Another writer changed the object since it was read.
    #[error("gave up after repeated write conflicts on the Node; try again")]
    Conflict,
    /// The timeout expired.
    #[error("{0}")]
    Timeout(String),
    /// The answer was no, or there was nobody to ask.
    #[error("{0}")]
    Declined(String),
    /// A signal ended the command.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

impl Failure {
    /// The exit code for this failure.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Unreachable(_) | Self::Unwell(_) | Self::Conflict => Exit::Unreachable,
            Self::Forbidden(_) => Exit::Forbidden,
            Self::Missing(_) => Exit::Missing,
            Self::Refused(_) => Exit::Refused,
            Self::Timeout(_) => Exit::Timeout,
            Self::Declined(_) => Exit::Declined,
            Self::Interrupted(_) => Exit::Interrupted,
            // A closed pipe is normal; any other write error is not.
            Self::Write(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe) => Exit::Done,
            Self::Write(_) => Exit::Unwritten,
        }
    }

    /// Whether the reader of the output is gone.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<NoAnswer> for Failure {
    fn from(NoAnswer(limit): NoAnswer) -> Self {
        Self::Unreachable(format!("no answer in {} s", limit.as_secs()))
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        if let kube::Error::Api(status) = error {
            answered(&status)
        } else {
            Self::Unreachable(sanitize::line(&chain(&error)))
        }
    }
}

/// The message comes from the server, and may repeat text that a node wrote.
fn answered(status: &Status) -> Failure {
    let message = sanitize::line(&status.message);
    let said = || format!("{message} ({})", status.code);
    match status.code {
        403 => Failure::Forbidden(message.clone()),
        404 => Failure::Missing(message.clone()),
        409 => Failure::Conflict,
        // 410: a list took longer than the server remembers its start.
        401 | 408 | 410 | 429 | 500..=599 => Failure::Unwell(said()),
        _ => Failure::Refused(format!("the API server refuses: {}", said())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: u16) -> Exit {
        let status = Status::failure("words", "").with_code(code).boxed();
        Failure::from(kube::Error::Api(status)).exit()
    }

    #[test]
    fn each_answer_of_the_server_has_its_own_code() {
        assert_eq!(exit(401), Exit::Unreachable);
        assert_eq!(exit(403), Exit::Forbidden);
        assert_eq!(exit(404), Exit::Missing);
        assert_eq!(exit(422), Exit::Refused);
        assert_eq!(exit(503), Exit::Unreachable);
    }

    #[test]
    fn a_server_that_answers_is_not_called_unreached() {
        let status = Status::failure("Unauthorized", "").with_code(401).boxed();
        let said = Failure::from(kube::Error::Api(status)).to_string();
        assert!(
            said.contains("answers with an error: Unauthorized (401)"),
            "{said}"
        );
    }

    #[test]
    fn local_write_error_has_its_own_exit_code() {
        let full = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.exit(), Exit::Unwritten);
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(failure.is_closed_pipe());
        assert_eq!(failure.exit(), Exit::Done);
    }
}
