//! One rule for every phase in which nothing may be armed: a one-shot entry that is set is cleared before anything else.

use super::{Act, old, uncounted};
use crate::observe::{Observation, OneShot};
use crate::record::Upgrade;
use crate::step::Step;

/// What is to be done about a one-shot entry that is set; nothing when none is. Without it the next reboot, whoever asks for
/// it, would be a trial. A grubenv that cannot be written stays so for a while, so a try that failed is not repeated at once.
pub(super) fn disarm(up: Option<&Upgrade>, seen: &Observation) -> Option<Act> {
    if seen.one_shot != OneShot::Set {
        return None;
    }
    let counted = up.filter(|up| {
        up.retry
            .as_ref()
            .is_some_and(|retry| retry.step == Step::Disarm.name())
    });
    let pause = counted
        .and_then(|up| old::pause(up, seen))
        .or_else(|| uncounted::pause(&Step::Disarm, seen));
    Some(pause.unwrap_or(Act::Begin(Step::Disarm)))
}
