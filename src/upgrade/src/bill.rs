//! The cost of an upgrade: how long the node was cordoned, drained and not ready, and how long the
//! upgrade only waited for its operator. For display, and after the end to estimate how many
//! minutes of the maintenance window the next drain needs.

use serde::{Deserialize, Serialize};

use crate::id::{BootId, Moment, SinceBoot};
use crate::observe::Observation;

/// No reboot takes longer than this, in seconds. If it seems to, the wall clock has jumped.
const LONGEST: u64 = 30 * 24 * 3600;

/// The downtime of one upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bill {
    /// Under our cordon: from the start of the drain until the cordon is removed.
    pub cordoned: Stopwatch,
    /// Without pods: from the end of the drain until the cordon is removed.
    pub drained: Stopwatch,
    /// Not Ready: from the start of a reboot until the Node is Ready in the boot that follows. A
    /// trial counts only once it has proved itself.
    pub not_ready: Stopwatch,
    /// Waiting for the operator: outside the maintenance window, or paused. A soak does not count,
    /// because the next upgrade has one too.
    pub waiting: Stopwatch,
}

/// How long an upgrade took, in seconds, as reported after its end. An upgrade that waits may be
/// cordoned too, so the last three are not parts of the first two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Seconds {
    /// From its start to its end, without the waits.
    pub working: u64,
    /// Outside the maintenance window, or paused.
    pub waiting: u64,
    /// Under our cordon.
    pub cordoned: u64,
    /// Without pods.
    pub drained: u64,
    /// Not Ready.
    pub not_ready: u64,
}

/// Adds up times, also across reboots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stopwatch {
    /// The total so far.
    pub seconds: u64,
    /// When it was started; `None` if it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
}

/// A moment by both clocks: the boot clock is exact within the boot, the wall clock continues
/// across boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// By the boot's clock.
    pub at: Moment,
    /// By the wall clock, in seconds since 1970.
    pub wall: u64,
}

/// Now, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// This boot.
    pub boot: &'a BootId,
    /// The time since this boot.
    pub at: SinceBoot,
    /// Seconds since 1970.
    pub wall: u64,
}

impl Bill {
    /// Whether nothing was measured, as in records of versions that did not measure.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// The times of an upgrade that ends now, `lasted` seconds after it began.
    #[must_use]
    pub fn seconds(&self, lasted: u64, now: Now<'_>) -> Seconds {
        let waiting = self.waiting.shows(now);
        // A reboot that was requested in this boot did not happen, and cost nobody any time.
        let not_ready = if self.not_ready.started_in(now.boot) {
            self.not_ready.seconds
        } else {
            self.not_ready.shows(now)
        };
        Seconds {
            working: lasted.saturating_sub(waiting),
            waiting,
            cordoned: self.cordoned.shows(now),
            drained: self.drained.shows(now),
            not_ready,
        }
    }
}

impl Stopwatch {
    /// The time that it shows now.
    #[must_use]
    pub fn shows(&self, now: Now<'_>) -> u64 {
        let running = self.since.as_ref().map_or(0, |since| since.elapsed(now));
        self.seconds.saturating_add(running)
    }

    /// Starts it, unless it already runs.
    pub fn start(&mut self, now: Now<'_>) {
        if self.since.is_none() {
            self.since = Some(Since::from(now));
        }
    }

    /// Stops it, if it runs.
    pub fn stop(&mut self, now: Now<'_>) {
        self.seconds = self.shows(now);
        self.since = None;
    }

    /// Whether it was started in this boot.
    #[must_use]
    pub fn started_in(&self, boot: &BootId) -> bool {
        self.since
            .as_ref()
            .is_some_and(|since| since.at.boot == *boot)
    }
}

impl Since {
    /// After a reboot at least the time since that boot, whatever the wall clock says.
    fn elapsed(&self, now: Now<'_>) -> u64 {
        if self.at.boot == *now.boot {
            return now.at.seconds_since(self.at.at);
        }
        let by_wall = now.wall.saturating_sub(self.wall);
        let in_this_boot = now.at.0 / 1000;
        if by_wall > LONGEST {
            return in_this_boot;
        }
        by_wall.max(in_this_boot)
    }
}

impl<'a> From<&'a Observation> for Now<'a> {
    fn from(seen: &'a Observation) -> Self {
        Self {
            boot: &seen.turn.boot,
            at: seen.turn.now,
            wall: seen.turn.wall,
        }
    }
}

impl From<Now<'_>> for Since {
    fn from(now: Now<'_>) -> Self {
        let at = Moment {
            boot: now.boot.clone(),
            at: now.at,
        };
        Self { at, wall: now.wall }
    }
}
