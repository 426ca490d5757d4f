//! What is known of this one look.

use super::{Health, NoNetwork};
use crate::id::{BootId, SinceBoot};
use crate::step::{Finished, Home, Step};

/// Who looks, when, and what has happened since the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Who looks.
    pub home: Home,
    /// This boot.
    pub boot: BootId,
    /// Since this boot.
    pub now: SinceBoot,
    /// When the process that looks was started.
    pub started: SinceBoot,
    /// Seconds since 1970: for display, and for the hours in which the operator lets upgrades
    /// begin. Nothing else is decided by it, for an initramfs may have no clock.
    pub wall: u64,
    /// The step that is being performed.
    pub running: Option<Step>,
    /// The step that has just ended; seen once.
    pub finished: Option<Finished>,
    /// The health of a trial.
    pub health: Health,
    /// What this node itself lacks of a way to the API server; looked at in a trial alone.
    pub network: Result<(), NoNetwork>,
}

impl Turn {
    /// A look in this boot and at this moment, at which nothing runs, nothing has ended, and
    /// nothing is judged. The process started with it.
    #[must_use]
    pub fn quiet(home: Home, boot: BootId, now: SinceBoot) -> Self {
        Self {
            home,
            boot,
            now,
            started: now,
            wall: 0,
            running: None,
            finished: None,
            health: Health::unknown(),
            network: Ok(()),
        }
    }
}
