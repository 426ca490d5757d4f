//! The time that a run has.

use std::time::{Duration, Instant};

use scenarios::Scenario;

/// The time within which scenarios may start.
#[derive(Clone, Copy)]
pub struct Time {
    begun: Instant,
    for_others: Option<Duration>,
}

impl Time {
    /// The time of a run that has begun; scenarios outside the core start within `for_others`.
    pub const fn from(begun: Instant, for_others: Option<Duration>) -> Self {
        Self { begun, for_others }
    }

    /// Whether this scenario may still start: always for the core, within the time for all others.
    pub fn is_left_for(&self, scenario: &Scenario) -> bool {
        let over = |time| self.begun.elapsed() >= time;
        let late = !scenario.core && self.for_others.is_some_and(over);
        if late {
            println!("left out, for the time is over: {}", scenario.name);
        }
        !late
    }
}
