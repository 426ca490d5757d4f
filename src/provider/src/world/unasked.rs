//! For how long others wait for a node that works on an unknown request. If a person made the
//! request, the node is unavailable for a good reason. A captured node may only claim so, and its
//! group must not wait for it forever.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::machines::Key;

/// When such work was first and last seen while another Machine wanted a turn.
struct Seen {
    since: i64,
    last: i64,
    told: bool,
}

/// The Machines whose nodes work on an unknown request. A restart loses them, and each then gets
/// new time.
#[derive(Default)]
pub(super) struct Unasked(Mutex<HashMap<Key, Seen>>);

/// The result for one of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Others wait for it.
    Within,
    /// They no longer wait for it.
    Over {
        /// This is the first time, so nobody was told yet.
        is_news: bool,
    },
}

impl Unasked {
    /// Records one that works now. Its time restarts only if it has not worked for the full length
    /// of that time. A node that pauses now and then therefore holds its group no longer than one
    /// that works without a break.
    pub(super) fn look(&self, key: Key, now: i64, limit: i64) -> Look {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first_look = || Seen {
            since: now,
            last: now,
            told: false,
        };
        let seen = all.entry(key).or_insert_with(first_look);
        if now.saturating_sub(seen.last) >= limit || now < seen.since {
            *seen = first_look();
        }
        seen.last = now;
        if now.saturating_sub(seen.since) < limit {
            return Look::Within;
        }
        let is_news = !std::mem::replace(&mut seen.told, true);
        Look::Over { is_news }
    }

    pub(super) fn forget(&self, key: &Key) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: i64 = 100;

    fn looks(times: &[i64]) -> Vec<Look> {
        let unasked = Unasked::default();
        let look = |now: &i64| unasked.look(Key::new("t", "m"), *now, LIMIT);
        times.iter().map(look).collect()
    }

    const NEWS: Look = Look::Over { is_news: true };
    const OVER: Look = Look::Over { is_news: false };

    #[test]
    fn work_that_nobody_asked_for_counts_until_its_limit() {
        assert_eq!(
            looks(&[0, 99, 100, 150]),
            [Look::Within, Look::Within, NEWS, OVER]
        );
    }

    #[test]
    fn a_node_that_stops_for_moments_has_no_more_time() {
        // It may have stopped between two looks. The provider does not check that.
        assert_eq!(
            looks(&[0, 60, 120, 180]),
            [Look::Within, Look::Within, NEWS, OVER]
        );
    }

    #[test]
    fn time_restarts_after_a_rest_as_long_as_the_limit() {
        assert_eq!(
            looks(&[0, 99, 110, 210]),
            [Look::Within, Look::Within, NEWS, Look::Within]
        );
    }

    #[test]
    fn a_clock_that_went_back_gives_no_time_without_end() {
        assert_eq!(
            looks(&[1000, 10, 109, 110]),
            [Look::Within, Look::Within, Look::Within, NEWS]
        );
    }
}
