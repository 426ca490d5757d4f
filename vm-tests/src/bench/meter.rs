//! How long things take by the node's own clock, which goes by what its processor has done and what it has waited for. On a machine that
//! others take time from, our clock measures them too.

use std::iter::Sum;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::jiff::civil::{DateTime, date};
use k8s_openapi::jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::qmp::Qmp;

/// How often the node's clock is read: it tells whole seconds.
const LOOK: Duration = Duration::from_millis(250);

/// What one way took. Seconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Took {
    /// By our clock.
    pub clock: f64,
    /// By the node's.
    pub node: f64,
}

impl Took {
    /// So much of it.
    #[must_use]
    pub fn times(self, share: f64) -> Self {
        Self {
            clock: self.clock * share,
            node: self.node * share,
        }
    }
}

impl Sum for Took {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            clock: sum.clock + one.clock,
            node: sum.node + one.node,
        })
    }
}

/// A meter at one machine; ends when dropped.
pub struct Meter {
    read: Arc<Mutex<Vec<(Instant, f64)>>>,
    task: JoinHandle<()>,
}

impl Meter {
    /// Begins to read the clock of the machine whose second monitor is at this socket.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn at(monitor: &Path) -> Result<Self> {
        let connected = Qmp::connect(monitor).await;
        let mut monitor = connected.context("the machine's second monitor")?;
        let read = Arc::new(Mutex::new(vec![(
            Instant::now(),
            clock(&mut monitor).await?,
        )]));
        let kept = Arc::clone(&read);
        let task = tokio::spawn(async move {
            while let Ok(now) = clock(&mut monitor).await {
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
            node: at(&read, to) - at(&read, from),
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

/// What the machine's own clock says, in seconds since 1970. A reset of the machine leaves it alone.
async fn clock(monitor: &mut Qmp) -> Result<f64> {
    let which = json!({"path": "/machine", "property": "rtc-time"});
    let told = monitor.execute("qom-get", Some(which)).await?;
    let time = civil(&told).with_context(|| format!("the machine's clock says {told}"))?;
    Ok(time.to_zoned(TimeZone::UTC)?.timestamp().as_second() as f64)
}

/// QEMU gives C's `struct tm`: years since 1900, months since January.
fn civil(told: &Value) -> Option<DateTime> {
    let part = |name: &str| told[name].as_i64();
    let small = |name: &str| i8::try_from(part(name)?).ok();
    let year = i16::try_from(part("tm_year")? + 1900).ok()?;
    let day = date(year, small("tm_mon")? + 1, small("tm_mday")?);
    Some(day.at(small("tm_hour")?, small("tm_min")?, small("tm_sec")?, 0))
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

    #[test]
    fn a_machines_clock_is_read_as_c_writes_it() {
        let told = json!({"tm_year": 126, "tm_mon": 10, "tm_mday": 23, "tm_hour": 9, "tm_min": 5, "tm_sec": 7});
        assert_eq!(civil(&told), Some(date(2026, 11, 23).at(9, 5, 7, 0)));
        assert_eq!(civil(&json!({"tm_year": 126})), None);
    }
}
