//! What makes a node safe, whatever upgrade is under way: nothing armed that should not be, nothing
//! of ours that keeps a node from users who have it, no trial that no record knows.

use super::decision::Act;
use super::situation::Situation;
use crate::record::Upgrade;
use crate::step::{Step, StepKind};

/// The step that clears a one-shot entry, or the pause before its next try; nothing when none is
/// set. With one the next reboot would be a trial, whatever causes it. A grubenv that cannot be
/// written stays so for a while.
pub(super) fn disarm(up: Option<&Upgrade>, s: &Situation<'_>) -> Option<Act> {
    if !s.armed {
        return None;
    }
    let counts = |up: &&Upgrade| {
        let retry = up.retry.as_ref();
        retry.is_some_and(|retry| retry.is_of(StepKind::Disarm))
    };
    let pause = up
        .filter(counts)
        .and_then(|up| s.backoff(up))
        .or_else(|| s.pause_after_failure(&Step::Disarm));
    Some(pause.unwrap_or(Act::Begin(Step::Disarm)))
}

/// Removes our cordon, or our label for load balancers, from a node that its users have. The Node
/// may still show what was just removed, so this is not done twice in a row.
pub(super) fn lift(s: &Situation<'_>) -> Option<Act> {
    if !(s.seen.node.own_cordon || s.seen.node.own_exclusion) {
        return None;
    }
    if !s.reached {
        return Some(Act::Wait(None));
    }
    let pause = s.pause_after(&Step::Release);
    Some(pause.unwrap_or(Act::Begin(Step::Release)))
}

/// Leaves a trial that no record knows: the default is another system, so a reboot leads there. The
/// deadman ends the trial where asking for a reboot never helps.
pub(super) fn leave_trial(s: &Situation<'_>) -> Act {
    let reboot = Step::Reboot { force: false };
    s.pause_after_failure(&reboot).unwrap_or(Act::Begin(reboot))
}
