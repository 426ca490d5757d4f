//! A step to retry.

use crate::id::Moment;
use crate::reason::Reason;
use crate::step::StepKind;

/// A step to retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The step.
    pub step: Retried,
    /// Attempts so far.
    pub tries: u32,
    /// When the next attempt is due. In another boot it is due at once.
    pub due: Moment,
    /// Why the last attempt failed.
    pub reason: Reason,
}

/// Which step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retried {
    /// A step that this version knows.
    Known(StepKind),
    /// A step that only the version that wrote the record knows.
    Unknown(String),
}

impl Retry {
    /// Whether the retry is of this step.
    #[must_use]
    pub fn is_of(&self, step: StepKind) -> bool {
        self.step == Retried::Known(step)
    }
}

impl Retried {
    /// The name of the step.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(step) => step.name(),
            Self::Unknown(name) => name,
        }
    }
}

impl From<StepKind> for Retried {
    fn from(step: StepKind) -> Self {
        Self::Known(step)
    }
}

impl From<String> for Retried {
    fn from(name: String) -> Self {
        StepKind::named(&name).map_or(Self::Unknown(name), Self::Known)
    }
}

impl From<Retried> for String {
    fn from(step: Retried) -> Self {
        match step {
            Retried::Known(step) => step.name().to_owned(),
            Retried::Unknown(name) => name,
        }
    }
}
