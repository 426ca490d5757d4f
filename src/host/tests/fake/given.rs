//! What a test gives the world, and what somebody in it does.

use std::ops::Range;

use super::{Cut, Flaw, World};

impl World {
    /// Lets the world break in at these points, counted over its whole life.
    #[must_use]
    pub fn with_cuts(mut self, cuts: &[(u32, Cut)]) -> Self {
        self.cuts = cuts.to_vec();
        self
    }

    /// Takes the API server away, in seconds since the world began; once more each time that this
    /// is called.
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

    /// Has somebody refuse the first reboots that are asked for.
    #[must_use]
    pub const fn with_refused_reboots(mut self, refusals: u32) -> Self {
        self.refusals = refusals;
        self
    }

    /// Lets the blessing fail when its swap is done already.
    #[must_use]
    pub const fn with_failure_behind_bless(mut self) -> Self {
        self.fails_behind_bless = true;
        self
    }

    /// Gives the node a loader that cannot clear its one-shot, past the check for that.
    #[must_use]
    pub const fn with_stuck_loader(mut self) -> Self {
        self.stuck_loader = true;
        self
    }

    /// Asks for the image again by another id.
    pub fn ask_again(&mut self, id: &str) {
        if let Some(request) = &mut self.request {
            request.id = Some(id.to_owned());
        }
    }

    /// Takes the request back at a point.
    #[must_use]
    pub const fn with_withdrawal(mut self, at: u32) -> Self {
        self.withdrawal = Some(at);
        self
    }

    /// Has somebody change the old system's /etc at each of these points.
    #[must_use]
    pub const fn with_etc_changed(mut self, at: Range<u32>) -> Self {
        self.etc_changes = at;
        self
    }

    /// Mends the new system.
    pub const fn mend(&mut self) {
        self.flaw = Flaw::None;
    }
}
