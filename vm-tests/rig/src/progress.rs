//! What a person sees while a scenario runs: one line per step, with the time since its start.

use std::time::{Duration, Instant};

/// Prints the steps of one scenario to standard error.
#[derive(Debug, Clone)]
pub struct Progress {
    name: String,
    start: Instant,
}

impl Progress {
    /// Starts the clock.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            start: Instant::now(),
        }
    }

    /// Says what happens now.
    pub fn step(&self, what: &str) {
        eprintln!(
            "{:>8.1} s  {}: {what}",
            self.elapsed().as_secs_f64(),
            self.name
        );
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
