//! The short answer to a request.

use serde::{Deserialize, Serialize};

/// The value of [`crate::names::ANSWER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Under way.
    InProgress,
    /// The new system is proven and the default.
    Upgraded,
    /// The old system serves, or a person must act.
    Failed,
}

impl Answer {
    /// The value of the annotation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "InProgress",
            Self::Upgraded => "Upgraded",
            Self::Failed => "Failed",
        }
    }

    /// The answer for this value of the annotation.
    #[must_use]
    pub fn of(value: &str) -> Option<Self> {
        [Self::InProgress, Self::Upgraded, Self::Failed]
            .into_iter()
            .find(|answer| answer.as_str() == value)
    }
}
