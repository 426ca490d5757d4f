//! Measures the emulator's CPU time. On a shared machine the clock also measures others; CPU time
//! does not, and it leaves out waiting.

use std::iter::Sum;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

/// How often the emulator's clock is read: nothing that is measured takes less than seconds.
const LOOK: Duration = Duration::from_millis(250);

/// What one way took. Seconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Took {
    /// By the clock.
    pub clock: f64,
    /// Of the processor, by the emulator.
    pub work: f64,
}

impl Took {
    /// So much of it.
    #[must_use]
    pub fn times(self, share: f64) -> Self {
        Self {
            clock: self.clock * share,
            work: self.work * share,
        }
    }
}

impl Sum for Took {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            clock: sum.clock + one.clock,
            work: sum.work + one.work,
        })
    }
}

/// A meter at one emulator; ends when dropped.
pub struct Meter {
    read: Arc<Mutex<Vec<(Instant, f64)>>>,
    task: JoinHandle<()>,
}

impl Meter {
    /// Begins to measure this process.
    ///
    /// # Errors
    ///
    /// Fails when it is not there.
    pub fn at(process: u32) -> Result<Self> {
        let clock = clock_getcpuclockid(Pid::from_raw(process.try_into()?))
            .context("the emulator's clock")?;
        let read = Arc::new(Mutex::new(vec![(Instant::now(), seconds(clock)?)]));
        let kept = Arc::clone(&read);
        let task = tokio::spawn(async move {
            while let Ok(now) = seconds(clock) {
                keep(&kept, now);
                tokio::time::sleep(LOOK).await;
            }
        });
        Ok(Self { read, task })
    }

    /// What it took between two moments.
    #[must_use]
    pub fn between(&self, from: Instant, to: Instant) -> Took {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        Took {
            clock: (to - from).as_secs_f64(),
            work: at(&read, to) - at(&read, from),
        }
    }

    /// What it took until now.
    #[must_use]
    pub fn since(&self, from: Instant) -> Took {
        self.between(from, Instant::now())
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn keep(kept: &Mutex<Vec<(Instant, f64)>>, now: f64) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push((Instant::now(), now));
}

fn seconds(clock: ClockId) -> nix::Result<f64> {
    let time: TimeSpec = clock.now()?;
    Ok(Duration::from(time).as_secs_f64())
}

/// The last that was read by then.
fn at(read: &[(Instant, f64)], moment: Instant) -> f64 {
    let before = read.iter().take_while(|(at, _)| *at <= moment).last();
    before.or(read.first()).map_or(0.0, |(_, seconds)| *seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_last_before_a_moment_counts() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let read = [(begin, 1.0), (after(1), 1.5), (after(2), 3.0)];
        assert_eq!(at(&read, after(1)), 1.5);
        assert_eq!(at(&read, after(9)), 3.0);
        assert_eq!(at(&read, begin), 1.0);
    }

    #[tokio::test]
    async fn a_process_that_is_not_there_is_not_measured() {
        // The kernel gives no process such a number (proc(5), pid_max).
        assert!(Meter::at(1 << 23).is_err());
    }
}
