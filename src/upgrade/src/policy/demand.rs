//! How much a check of a trial counts.

use serde::{Deserialize, Serialize};

/// How much a check of a trial counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Demand {
    /// It does not run, or its result is left out.
    Off,
    /// It runs, and the agent says when it fails.
    Warn,
    /// A system that does not pass it is not blessed.
    Require,
}

impl Demand {
    /// The same, without a failed trial.
    #[must_use]
    pub fn at_most_warn(self) -> Self {
        self.min(Self::Warn)
    }
}
