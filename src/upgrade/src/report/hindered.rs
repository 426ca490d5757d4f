//! What blocks the agent but is in neither the record nor a step. The Node shows it too.

use super::{Answer, Doing, Moment, Report, first, repeating};
use crate::observe::Asked;
use crate::reason::Reason;
use crate::record::RecordRead;

/// The report while the record cannot be written: the record as it was last read, and why it cannot
/// be written. Without this report, the Node would show the old progress forever.
#[must_use]
pub fn unwritten<'a>(
    read: &RecordRead,
    seen: impl Into<Moment<'a>>,
    doing: Option<&Doing>,
    why: &Reason,
) -> Report {
    let seen = seen.into();
    let before = repeating(read, seen, doing);
    before.unwrap_or_else(|| first(seen)).hindered(why)
}

/// The report while the machine's state cannot be read: the record, and why it stays so. A node
/// without a request reports nothing.
#[must_use]
pub fn unseen(
    read: &RecordRead,
    moment: Moment<'_>,
    doing: Option<&Doing>,
    why: &Reason,
) -> Option<Report> {
    let is_asked = matches!(moment.request, Asked::This(_));
    let before = repeating(read, moment, doing);
    let before = before.or_else(|| is_asked.then(|| first(moment)))?;
    Some(before.hindered(why))
}

impl Report {
    /// The same report with the reason added: to the upgrade under way, or to the next one if the
    /// last is answered.
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
        self.without_repeats()
    }
}
