//! Handles a termination signal when something must be said or done first.

use std::future::{Future, pending};

use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Does the work unless a signal comes first. After the first call, signals no longer end the
/// process by themselves. So all later slow work must be wrapped in it too.
///
/// # Errors
/// [`Failure::Interrupted`] with this message; see [`Failure`].
pub async fn unless_interrupted<T>(
    words: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        ended = work => ended,
        () = interrupted() => Err(Failure::Interrupted(words.to_owned())),
    }
}

/// The same for work that leaves something to clean up. A terminal that closes, for example because
/// its link is lost, also ends the command. A user who wants it to continue without a terminal
/// (nohup) ignores SIGHUP.
///
/// # Errors
/// See [`unless_interrupted`].
pub async fn unless_left<T>(
    words: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        ended = unless_interrupted(words, work) => ended,
        () = hang_up() => Err(Failure::Interrupted(words.to_owned())),
    }
}

async fn hang_up() {
    let ignored =
        std::fs::read_to_string("/proc/self/status").is_ok_and(|own| ignores_hangup(&own));
    match signal(SignalKind::hangup()) {
        Ok(mut hangup) if !ignored => {
            hangup.recv().await;
        }
        Ok(_) | Err(_) => pending().await,
    }
}

/// Reads `SigIgn` of proc_pid_status(5), a mask whose lowest bit is signal 1, SIGHUP. Without that
/// file, the signal counts as not ignored.
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hangup_that_is_ignored_is_known_by_its_bit() {
        let status = |mask: &str| format!("SigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        assert!(ignores_hangup(&status("0000000000001001")));
        assert!(!ignores_hangup(&status("0000000000001000")));
        assert!(!ignores_hangup(""));
    }
}
