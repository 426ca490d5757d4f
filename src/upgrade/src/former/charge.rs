//! Running the bill of an upgrade: which of its watches go, by what was decided. Nothing is decided by them.

use super::Act;
use crate::bill::Now;
use crate::observe::{Check, Observation};
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{Record, Upgrade};
use crate::step::{Home, Step};

/// Starts and stops the watches. `before` is the record as it was read.
pub(super) fn charge(before: &Record, next: &mut Record, seen: &Observation, act: &Act) {
    // The initramfs may have no clock; and nothing begins or ends there that the agent does not see.
    let Some(up) = next.upgrade.as_mut().filter(|_| seen.home == Home::Agent) else {
        return;
    };
    let now = Now::from(seen);
    cordon(before, up, now, act);
    reboot(up, seen, now, act);
}

/// Starts and stops the watch over the waiting. Called before a phase that is reached now is noted: what was waited was waited in the
/// one before it.
pub(super) fn charge_waiting(next: &mut Record, seen: &Observation, act: &Act) {
    let Some(up) = next.upgrade.as_mut().filter(|_| seen.home == Home::Agent) else {
        return;
    };
    let now = Now::from(seen);
    if waits_for_the_operator(up, seen, act) {
        up.bill.waiting.start(now);
        return;
    }
    let watch = &mut up.bill.waiting;
    let before = watch.seconds;
    watch.stop(now);
    let waited = watch.seconds.saturating_sub(before);
    if let Some(phase) = up.reached.last_mut() {
        phase.waited = phase.waited.saturating_add(waited);
    }
}

/// Whether nothing is done that could be done. A step under way is work also while the Node is paused, and so is a pause before another
/// try.
fn waits_for_the_operator(up: &Upgrade, seen: &Observation, act: &Act) -> bool {
    let closed = matches!(up.waits, Some(Reason::WindowClosed { .. }));
    let idle = seen.running.is_none() && matches!(act, Act::Wait(_));
    idle && up.phase.can_be_withdrawn() && (up.held || closed)
}

fn cordon(before: &Record, up: &mut Upgrade, now: Now<'_>, act: &Act) {
    if let Act::Begin(Step::Drain { .. }) = act {
        up.bill.cordoned.start(now);
    }
    let was = before.upgrade.as_ref().filter(|was| was.id == up.id);
    let just = was.is_none_or(|was| was.phase != Phase::Drained);
    if up.phase == Phase::Drained && just {
        up.bill.drained.start(now);
    }
    if up.released {
        up.bill.cordoned.stop(now);
        up.bill.drained.stop(now);
    }
}

fn reboot(up: &mut Upgrade, seen: &Observation, now: Now<'_>, act: &Act) {
    let ended = up.phase.is_end();
    let begins = !ended && matches!(act, Act::Begin(Step::Reboot { .. }));
    let watch = &mut up.bill.not_ready;
    let here = watch.started_in(&seen.boot);
    if here && (begins || ended) {
        // The reboot that was asked for did not come, and has taken nobody's time.
        watch.since = None;
    }
    // A trial that is not judged yet serves nobody, and a record of its own for its being Ready would be one write more.
    let judged = !matches!(up.phase, Phase::Trial { .. });
    let back = seen.health.ready == Check::Pass && judged && !here;
    if begins {
        watch.start(now);
    } else if ended || back {
        watch.stop(now);
    }
}
