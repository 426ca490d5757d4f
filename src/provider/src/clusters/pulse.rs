//! Signs of life of a workload cluster's API server. Connections to a server that hangs stay open,
//! so no error shows it. But a live server sends something on each watch within a minute, even if
//! nothing changed.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::clock::now;
use crate::watch::LIFE;

/// A server that is silent for this many seconds hangs: each watch ends and restarts earlier than
/// that.
const SILENCE: i64 = LIFE as i64 + 5;

/// How often the provider checks for a sign of life, in memory only.
const LOOK: Duration = Duration::from_secs(5);

/// When a server was last heard, in seconds since 1970; 0 if nobody has listened yet.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    last: AtomicI64,
    since: AtomicI64,
}

impl Pulse {
    /// Records a sign of life. One after a silence ends an absence.
    pub(super) fn beat(&self, now: i64) {
        let before = self.last.fetch_max(now, Ordering::Relaxed);
        if now - before >= SILENCE {
            self.since.store(now, Ordering::Relaxed);
        }
    }

    /// The last sign of life, if any.
    pub(super) fn last(&self) -> Option<i64> {
        Some(self.last.load(Ordering::Relaxed)).filter(|last| *last > 0)
    }

    /// The time since which no two signs of life were a silence apart.
    pub(super) fn since(&self) -> i64 {
        self.since.load(Ordering::Relaxed)
    }

    fn is_silent(&self, now: i64) -> bool {
        self.last().is_some_and(|last| now - last >= SILENCE)
    }

    pub(super) async fn until_silent(&self) {
        while !self.is_silent(now()) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_silence_longer_than_a_watch_counts_as_an_absence() {
        let pulse = Pulse::default();
        assert_eq!((pulse.last(), pulse.is_silent(1000)), (None, false));
        pulse.beat(1000);
        pulse.beat(1000 + SILENCE - 1);
        assert_eq!((pulse.last(), pulse.since()), (Some(1064), 1000));
        assert!(!pulse.is_silent(1064 + SILENCE - 1));
        assert!(pulse.is_silent(1064 + SILENCE));
        pulse.beat(1064 + SILENCE);
        assert_eq!(
            pulse.since(),
            1064 + SILENCE,
            "what was before does not count"
        );
    }
}
