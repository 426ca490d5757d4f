//! A token bucket: how long to wait so that a stream stays below a rate.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Shared by all connections of one pull.
pub struct Bucket {
    rate: u64,
    /// The time at which everything taken so far is paid for.
    paid_until: Mutex<Instant>,
}

impl Bucket {
    /// A bucket that lets `rate` bytes per second through.
    pub fn new(rate: u64) -> Self {
        Self {
            rate: rate.max(1),
            paid_until: Mutex::new(Instant::now()),
        }
    }

    /// Takes this many bytes and sleeps until they are paid for.
    pub fn take(&self, bytes: usize) {
        thread::sleep(self.debt(bytes, Instant::now()));
    }

    /// How long from `now` until the bytes are paid for, including all earlier ones.
    fn debt(&self, bytes: usize, now: Instant) -> Duration {
        let cost = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        let Ok(mut paid_until) = self.paid_until.lock() else {
            return cost;
        };
        *paid_until = (*paid_until).max(now) + cost;
        paid_until.duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_taken_at_once_are_paid_one_after_the_other() {
        let bucket = Bucket::new(1000);
        let now = Instant::now();
        assert_eq!(bucket.debt(500, now).as_millis(), 500);
        assert_eq!(bucket.debt(500, now).as_millis(), 1000);
    }

    #[test]
    fn an_idle_second_is_not_saved_up_for_a_burst() {
        let bucket = Bucket::new(1000);
        let later = Instant::now() + Duration::from_secs(60);
        assert_eq!(bucket.debt(1000, later).as_millis(), 1000);
    }
}
