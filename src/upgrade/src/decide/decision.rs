//! A decision, and the rule that its record is written before its act is known.

use crate::id::SinceBoot;
use crate::record::Record;
use crate::step::{StageStep, Step};

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Begin this step; its outcome comes back as `Observation::finished`.
    Begin(Step),
    /// Stop the step that is being performed; it comes back as cancelled, or done when it was too
    /// late.
    Cancel,
    /// Look again when something changes, or at this moment of this boot.
    Wait(Option<SinceBoot>),
}

impl Act {
    /// The step that the stage takes; nothing for an act that only the agent has.
    #[must_use]
    pub const fn in_the_stage(&self) -> Option<StageStep> {
        match self {
            Self::Begin(step) => step.in_the_stage(),
            Self::Cancel | Self::Wait(_) => None,
        }
    }
}

/// The next record and the act. The act can be had only through [`Decision::commit`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a decision that is not committed is lost"]
pub struct Decision {
    pub(super) record: Option<Record>,
    pub(super) act: Act,
}

/// Where records are made durable.
pub trait RecordStore {
    /// Why it could not.
    type Error;
    /// Makes the record durable before returning.
    ///
    /// # Errors
    /// When the record is not on the disk.
    fn store(&mut self, record: &Record) -> Result<(), Self::Error>;
}

impl Decision {
    /// `record` is the next one, or nothing when it stays as it is (or may not be touched).
    pub(crate) const fn new(record: Option<Record>, act: Act) -> Self {
        Self { record, act }
    }

    /// Writes the intent, then gives the act: forgetting the first does not compile.
    ///
    /// # Errors
    /// When the record could not be made durable; then nothing may be done.
    pub fn commit<S: RecordStore>(self, store: &mut S) -> Result<(Option<Record>, Act), S::Error> {
        if let Some(record) = &self.record {
            store.store(record)?;
        }
        Ok((self.record, self.act))
    }
}
