//! What makes a node safe, whatever upgrade is under way: nothing armed that should not be, nothing
//! of ours that keeps a node from users who have it, no trial that no record knows.

use super::decision::Act;
use super::situation::Situation;
use crate::id::SinceBoot;
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

/// What is left to do for our shields: remove them once the node has settled, wait for that moment,
/// or nothing. The time counts from when the node was given back. In another boot it counts from
/// the boot, because the node was away once more.
pub(super) fn remove_shields_when_settled(up: Option<&Upgrade>, s: &Situation<'_>) -> Act {
    if !s.seen.node.shielded || !s.reached {
        return Act::Wait(None);
    }
    let back = up.and_then(|up| up.custody.given_back_at());
    let back = back.filter(|back| back.boot == s.seen.turn.boot);
    let back = back.map_or(SinceBoot(0), |back| back.at);
    let settled = back.plus_seconds(s.policy.neighbours.settle_seconds);
    if s.seen.turn.now < settled {
        return Act::Wait(Some(settled));
    }
    let pause = s.pause_after(&Step::Settle);
    pause.unwrap_or(Act::Begin(Step::Settle))
}

/// Leaves a trial that no record knows: the default is another system, so a reboot leads there. The
/// deadman ends the trial where asking for a reboot never helps.
pub(super) fn leave_trial(s: &Situation<'_>) -> Act {
    let reboot = Step::Reboot { force: false };
    s.pause_after_failure(&reboot).unwrap_or(Act::Begin(reboot))
}
