//! What a test sets up in the world, and what people in it do.

use std::ops::Range;

use super::{Cut, Flaw, World};

impl World {
    /// Interrupts the world at these points, counted over its whole life.
    #[must_use]
    pub fn with_cuts(mut self, cuts: &[(u32, Cut)]) -> Self {
        self.cuts = cuts.to_vec();
        self
    }

    /// Makes the API server unreachable for these seconds since the world began. Each call adds a
    /// time span.
    #[must_use]
    pub fn with_api_away(mut self, seconds: Range<u64>) -> Self {
        self.away.push(seconds.start * 1000..seconds.end * 1000);
        self
    }

    /// Gives the node this policy.
    #[must_use]
    pub fn with_policy(mut self, policy: upgrade::Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Refuses this number of reboots, from the first one on.
    #[must_use]
    pub const fn with_refused_reboots(mut self, refusals: u32) -> Self {
        self.refusals = refusals;
        self
    }

    /// Makes the blessing fail after its swap.
    #[must_use]
    pub const fn with_failure_behind_bless(mut self) -> Self {
        self.fails_behind_bless = true;
        self
    }

    /// Gives the node a loader that cannot clear its one-shot, bypassing the check for that.
    #[must_use]
    pub const fn with_stuck_loader(mut self) -> Self {
        self.stuck_loader = true;
        self
    }

    /// Requests the image again with another id.
    pub fn ask_again(&mut self, id: &str) {
        if let Some(request) = &mut self.request {
            request.id = Some(id.to_owned());
        }
    }

    /// Withdraws the request at a point.
    #[must_use]
    pub const fn with_withdrawal(mut self, at: u32) -> Self {
        self.withdrawal = Some(at);
        self
    }

    /// Changes the old system's /etc at each of these points.
    #[must_use]
    pub const fn with_etc_changed(mut self, at: Range<u32>) -> Self {
        self.etc_changes = at;
        self
    }

    /// Fixes the new system.
    pub const fn repair(&mut self) {
        self.flaw = Flaw::None;
    }
}
