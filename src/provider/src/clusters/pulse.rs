//! Signs of life of a workload cluster's API server. Connections to a server that hangs stay open, so that nothing breaks; but a server
//! that lives says something on each watch within a minute, be it that there is nothing new.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::watch::LIFE;
use crate::world::now;

/// After so many seconds without a sign of life a server hangs: each watch ends earlier, and begins again.
const SILENCE: i64 = LIFE as i64 + 5;

/// How often it is looked whether there was one. In memory only.
const LOOK: Duration = Duration::from_secs(5);

/// When a server was heard, in seconds since 1970; 0 where nobody has listened yet.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    last: AtomicI64,
    since: AtomicI64,
}

impl Pulse {
    /// A sign of life. One behind a silence is a return from an absence.
    pub(super) fn beat(&self, now: i64) {
        let before = self.last.fetch_max(now, Ordering::Relaxed);
        if now - before >= SILENCE {
            self.since.store(now, Ordering::Relaxed);
        }
    }

    /// The last one, if there was any.
    pub(super) fn last(&self) -> Option<i64> {
        Some(self.last.load(Ordering::Relaxed)).filter(|last| *last > 0)
    }

    /// Since when no two were a silence apart.
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
