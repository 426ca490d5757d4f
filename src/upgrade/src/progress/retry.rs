//! A step that is tried again.

use crate::id::Moment;
use crate::reason::Reason;
use crate::step::StepKind;

/// A step that is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retry {
    /// The step.
    pub(crate) step: Retried,
    /// Tries so far.
    pub(crate) tries: u32,
    /// When the next is due. In another boot it is due at once.
    pub(crate) due: Moment,
    /// What went wrong.
    pub(crate) reason: Reason,
}

/// Which step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Retried {
    /// This one.
    Known(StepKind),
    /// One that only the version that wrote the record knows.
    Unknown(String),
}

impl Retry {
    /// Whether this step is the one.
    pub(crate) fn is_of(&self, step: StepKind) -> bool {
        self.step == Retried::Known(step)
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
