//! One rule for every phase in which nothing may be armed: a one-shot entry that is set is cleared before anything else.

use super::{Act, old};
use crate::observe::{Observation, OneShot};
use crate::record::Upgrade;
use crate::step::{Outcome, Step};

/// Pause before another try where no upgrade is under way that could count the tries, in seconds.
const PAUSE: u64 = 60;

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
        .or_else(|| just_failed(seen));
    Some(pause.unwrap_or(Act::Begin(Step::Disarm)))
}

fn just_failed(seen: &Observation) -> Option<Act> {
    let finished = seen.finished.as_ref()?;
    let failed = finished.step == Step::Disarm && matches!(finished.outcome, Outcome::Failed(_));
    failed.then(|| Act::Wait(Some(seen.now.plus_seconds(PAUSE))))
}
