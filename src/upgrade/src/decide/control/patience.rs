//! How long an upgrade waits for the control plane before it ends, if the policy has a limit.

use super::super::situation::Situation;
use super::pace::{RECENT, is_fresh, is_within};
use crate::id::Moment;
use crate::reason::{Reason, bare};
use crate::record::{Control, Lock, Raise, Waiting};

/// The control plane after an answer of careen-control, with the wait that the answer begins,
/// continues or ends. A wait does not continue over a time in which nobody looked, as in a pause.
pub(super) fn counted(control: Control, s: &Situation<'_>) -> Control {
    let now = s.moment();
    let before = control.waiting.as_ref();
    let before = before.filter(|waiting| is_within(&waiting.seen, RECENT, s));
    let since = before.map_or_else(|| now.clone(), |waiting| waiting.since.clone());
    let waiting = waits(&control).then_some(Waiting { since, seen: now });
    Control { waiting, ..control }
}

/// Why the upgrade ends instead of waiting any longer for what this answer has shown. An old answer
/// ends nothing: the next one is due. Static pods of two versions are not left for want of patience.
pub(super) fn ended(
    control: &Control,
    (waits, seen): (&Reason, &Moment),
    s: &Situation<'_>,
) -> Option<Reason> {
    let limit = s.policy.control_plane.wait_seconds;
    let waiting = control.waiting.as_ref().filter(|_| limit > 0)?;
    let is_spent = s.seen.turn.now >= waiting.since.at.plus_seconds(limit);
    let ends = is_spent && is_fresh(seen, s) && control.raise != Raise::Begun;
    ends.then(|| unfit(waits, limit)).flatten()
}

fn unfit(waits: &Reason, limit: u64) -> Option<Reason> {
    let Reason::ControlPlaneWaits { finding, detail } = waits else {
        return None;
    };
    Some(Reason::ControlPlaneUnfit {
        finding: finding.clone(),
        detail: format!(
            "{}. The upgrade has waited for {limit} s, as control-plane.wait-seconds in the policy \
             allows",
            bare(detail)
        ),
    })
}

fn waits(control: &Control) -> bool {
    let look = control.look.as_ref();
    matches!(control.lock, Lock::Busy { .. }) || look.is_some_and(|look| look.waits.is_some())
}
