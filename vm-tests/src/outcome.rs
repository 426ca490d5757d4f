//! How a scenario ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The outcome of one scenario.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The name of the scenario.
    pub name: String,
    /// Whether the scenario passed.
    pub passed: bool,
    /// Seconds from its start to its end.
    pub seconds: f64,
    /// What the scenario found instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed { "passed" } else { "FAILED" };
        write!(to, "{verdict}  {:>6.1} s  {}", self.seconds, self.name)
    }
}
