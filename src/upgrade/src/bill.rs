//! What an upgrade costs: how long the node was cordoned, without its pods, and away, and how much of the time it only waited for its
//! operator. For display; and once it has ended, for how many minutes of the hours the next drain wants.

use serde::{Deserialize, Serialize};

use crate::id::{BootId, Moment, SinceBoot};
use crate::observe::Observation;

/// No reboot takes longer than this, in seconds: it is the clock on the wall that has jumped.
const LONGEST: u64 = 30 * 24 * 3600;

/// The downtime of one upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bill {
    /// Under our cordon: from the begin of the drain until it is off.
    pub cordoned: Stopwatch,
    /// Without pods: from the end of the drain until the cordon is off.
    pub drained: Stopwatch,
    /// Not Ready: from the begin of a reboot until the Node is seen Ready with the boot that came of it, a trial only once it has
    /// proved itself.
    pub not_ready: Stopwatch,
    /// Waiting for the operator: outside of the hours, or paused. A soak is none of it, for the next upgrade has it too.
    pub waiting: Stopwatch,
}

/// What an upgrade took, in seconds, as it is told once it has ended. Who waits may be cordoned too: the last three are no shares
/// of the first two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Seconds {
    /// From its begin to its end, without the waiting.
    pub working: u64,
    /// Outside of the operator's hours, or paused.
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
    /// What was added up so far.
    pub seconds: u64,
    /// When it was started, if it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
}

/// A moment by both clocks: the boot's is exact within the boot, the wall's goes on across boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// By the boot's clock.
    pub at: Moment,
    /// By the clock on the wall, in seconds since 1970.
    pub wall: u64,
}

/// Now, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// This boot.
    pub boot: &'a BootId,
    /// Since this boot.
    pub at: SinceBoot,
    /// Seconds since 1970.
    pub wall: u64,
}

impl Bill {
    /// Whether nothing has been counted, as in records of a time that did not count.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// That of an upgrade that ends now, so many seconds after it began.
    #[must_use]
    pub fn seconds(&self, lasted: u64, now: Now<'_>) -> Seconds {
        let waiting = self.waiting.shows(now);
        // A reboot that was asked for in this boot did not come, and has taken nobody's time.
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
    /// What it shows now.
    #[must_use]
    pub fn shows(&self, now: Now<'_>) -> u64 {
        let running = self.since.as_ref().map_or(0, |since| since.elapsed(now));
        self.seconds.saturating_add(running)
    }

    /// Starts it, unless it runs.
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
    /// Across a reboot at least the time since that, whatever the clock on the wall says.
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
