//! Facts about the observation itself.

use super::api::NoNetwork;
use super::health::Health;
use crate::id::{BootId, SinceBoot};
use crate::serving::Serving;
use crate::step::{Finished, Home, Step};

/// Who observes, when, and what has happened since the last observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The home that observes.
    pub home: Home,
    /// This boot.
    pub boot: BootId,
    /// The time since this boot.
    pub now: SinceBoot,
    /// When the observing process started.
    pub started: SinceBoot,
    /// Seconds since 1970: for display, and for the maintenance window. No other decision depends
    /// on it, because an initramfs may have no clock.
    pub wall: u64,
    /// Whether a time service has set the clock in this boot. Until then the clock shows what the
    /// battery kept, or what the firmware takes for the time.
    pub clock_set: bool,
    /// When this process last refused a request.
    pub refused: Option<SinceBoot>,
    /// The step in progress.
    pub running: Option<Step>,
    /// The step that has just ended; reported once.
    pub finished: Option<Finished>,
    /// The health of a trial.
    pub health: Health,
    /// How the node serves; looked at only in a trial.
    pub serving: Serving,
    /// What this node itself lacks to reach the API server; checked only in a trial.
    pub network: Result<(), NoNetwork>,
}

impl Turn {
    /// An observation in this boot at this time: no step runs, none has ended, and nothing is
    /// judged. The process started at the same time.
    #[must_use]
    pub fn quiet(home: Home, boot: BootId, now: SinceBoot) -> Self {
        Self {
            home,
            boot,
            now,
            started: now,
            wall: 0,
            clock_set: true,
            refused: None,
            running: None,
            finished: None,
            health: Health::unknown(),
            serving: Serving::default(),
            network: Ok(()),
        }
    }
}
