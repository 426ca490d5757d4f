//! The record cannot be read.

use super::decision::Act;
use super::safety;
use super::situation::Situation;
use crate::step::{Home, Step};

/// Nothing new begins, and the record is left as it is for a person to look at.
pub(super) fn without_a_record(s: &Situation<'_>) -> Act {
    let seen = s.seen;
    // From the default a reboot would lead here again, for ever.
    if seen.turn.home == Home::Stage && seen.machine.on_trial() {
        return Act::Begin(Step::Reboot { force: true });
    }
    if seen.machine.on_trial() {
        return safety::leave_trial(s);
    }
    match (seen.turn.home, &seen.turn.running) {
        (Home::Stage, _) => Act::Begin(Step::Pass),
        (Home::Agent, Some(_)) => Act::Wait(None),
        (Home::Agent, None) => safety::disarm(None, s).unwrap_or(Act::Wait(None)),
    }
}
