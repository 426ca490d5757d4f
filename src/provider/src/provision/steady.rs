//! Whether somebody has set the clock. How long a host is silent is measured by what was seen, so it
//! does not change then.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A difference below this is rounding, in seconds.
const SET: i64 = 2;

/// A moment by the clock, and the same moment by a clock that nobody sets.
#[derive(Default)]
pub struct Steady(Mutex<Option<(i64, Instant)>>);

impl Steady {
    /// Tells by how many seconds the clock was set since the last look. Nobody looks again before
    /// that is taken in.
    pub(super) fn look(&self, now: i64, at: Instant, set_by: impl FnOnce(i64)) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (then, moment) = *known.get_or_insert((now, at));
        let passed = at.saturating_duration_since(moment).as_secs();
        let expected = then.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
        let by = now.saturating_sub(expected);
        if by.abs() >= SET {
            *known = Some((now, at));
            set_by(by);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn clock_that_is_set_is_noticed_once() {
        let steady = Steady::default();
        let begin = Instant::now();
        let set_by = |now: i64, seconds: u64| {
            let mut told = 0;
            let at = begin + Duration::from_secs(seconds);
            steady.look(now, at, |by| told = by);
            told
        };
        assert_eq!(set_by(1000, 0), 0);
        assert_eq!(set_by(1060, 60), 0);
        assert_eq!(set_by(1061, 60), 0, "rounding");
        assert_eq!(set_by(4660, 60), 3600);
        assert_eq!(set_by(4670, 70), 0);
        assert_eq!(set_by(1080, 80), -3600);
        assert_eq!(set_by(1080, 80), 0);
    }
}
