//! What keeps an agent from going on that neither record nor step can say: it stands on the Node all the same.

use super::{Answer, Doing, Moment, Report, first, report};
use crate::decide::RecordRead;
use crate::observe::Asked;
use crate::reason::Reason;

/// What the Node is told while the record cannot be written, told without one: the record as it was read, and why it stays so. Without it
/// the Node would say for ever how far the upgrade was before.
#[must_use]
pub fn unwritten<'a>(
    read: &RecordRead,
    seen: impl Into<Moment<'a>>,
    doing: Option<&Doing>,
    why: &Reason,
) -> Report {
    let seen = seen.into();
    let before = report(read, seen, doing);
    before.unwrap_or_else(|| first(seen)).hindered(why)
}

/// What the Node is told while the machine cannot be made out, for the same reason: the record, and why it stays so. A node of which
/// nothing is asked says nothing.
#[must_use]
pub fn unseen(
    read: &RecordRead,
    moment: Moment<'_>,
    doing: Option<&Doing>,
    why: &Reason,
) -> Option<Report> {
    let is_asked = matches!(moment.request, Asked::This(_));
    let before = report(read, moment, doing);
    let before = before.or_else(|| is_asked.then(|| first(moment)))?;
    Some(before.hindered(why))
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
