//! What keeps an agent from going on that neither record nor step can say: it stands on the Node all the same.

use super::{Answer, Doing, Report, first, report};
use crate::decide::RecordRead;
use crate::observe::Observation;
use crate::reason::Reason;

/// What the Node is told while the record cannot be written, told without one: the record as it was read, and why it stays so. Without it
/// the Node would say for ever how far the upgrade was before.
#[must_use]
pub fn unwritten(
    read: &RecordRead,
    seen: &Observation,
    doing: Option<&Doing>,
    why: &Reason,
) -> Report {
    let before = report(read, seen, doing);
    before.unwrap_or_else(|| first(seen)).hindered(why)
}

impl Report {
    /// The same, with what is in the way: of the upgrade under way, or of the next one where the last is answered.
    #[must_use]
    pub fn hindered(mut self, by: &Reason) -> Self {
        match self.answer {
            Some(Answer::InProgress) => {
                self.status.code = Some(by.code());
                self.status.reason = Some(by.told());
                self.reason = Some(by.clone());
            }
            Some(Answer::Upgraded | Answer::Failed) | None => self.waits = Some(by.clone()),
        }
        self
    }
}
