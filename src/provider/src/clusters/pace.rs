//! Slows watches that end as soon as they start. The library restarts each watch at once where it
//! stopped. That is right for one that timed out, but loops for ever with a server that closes each
//! watch before it sends anything.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::watch::Pauses;

/// When each watch of a workload cluster last started, by its path.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<HashMap<String, Begun>>);

#[derive(Debug)]
struct Begun {
    at: Instant,
    pauses: Pauses,
}

impl Pace {
    /// How long the next watch of this path must wait. It counts as started after that time.
    pub(super) fn wait(&self, path: &str, now: Instant) -> Duration {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(begun) = all.get_mut(path) else {
            let pauses = Pauses::default();
            all.insert(path.to_owned(), Begun { at: now, pauses });
            return Duration::ZERO;
        };
        let held = now.saturating_duration_since(begun.at);
        let pause = begun.pauses.after_an_end(held);
        begun.at = now + pause;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_delays_repeated_watches_of_one_path_and_no_other() {
        let (pace, mut now) = (Pace::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..8 {
            let wait = pace.wait("/api/v1/nodes", now);
            now += wait;
            waits.push(wait);
        }
        assert_eq!(waits[0], Duration::ZERO);
        assert!(
            waits.is_sorted() && waits[7] > Duration::from_secs(5),
            "{waits:?}"
        );
        assert_eq!(pace.wait("/api/v1/pods", now), Duration::ZERO);
    }

    #[test]
    fn watch_that_reaches_its_time_restarts_at_once() {
        let (pace, now) = (Pace::default(), Instant::now());
        pace.wait("/api/v1/nodes", now);
        let later = now + Duration::from_secs(u64::from(crate::watch::LIFE));
        assert_eq!(pace.wait("/api/v1/nodes", later), Duration::ZERO);
    }
}
