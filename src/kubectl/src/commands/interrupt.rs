//! A signal that asks for the end, where something is to be said or done first.

use std::future::{Future, pending};

use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Does the work, unless a signal comes first. From the first call on signals no longer end the process by themselves, so whatever takes time
/// then wants this around it.
///
/// # Errors
/// [`Failure::Interrupted`] with these words; see [`Failure`].
pub async fn unless_interrupted<T>(
    words: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        ended = work => ended,
        () = interrupted() => Err(Failure::Interrupted(words.to_owned())),
    }
}

async fn interrupted() {
    match signal(SignalKind::terminate()) {
        Ok(mut term) => {
            tokio::select! {
                _ = ctrl_c() => {}
                _ = term.recv() => {}
            }
        }
        Err(_) => pending().await,
    }
}
