//! Running the bill of an upgrade: which of its watches go, by what was decided. Nothing is decided by them.

use super::Act;
use crate::bill::Now;
use crate::observe::{Check, Observation};
use crate::phase::Phase;
use crate::record::{Record, Upgrade};
use crate::step::{Home, Step};

/// Starts and stops the watches. `before` is the record as it was read.
pub(super) fn charge(before: &Record, next: &mut Record, seen: &Observation, act: &Act) {
    // The initramfs may have no clock; and nothing begins or ends there that the agent does not see.
    let Some(up) = next.upgrade.as_mut().filter(|_| seen.home == Home::Agent) else {
        return;
    };
    let now = Now {
        boot: &seen.boot,
        at: seen.now,
        wall: seen.wall,
    };
    cordon(before, up, now, act);
    reboot(up, seen, now, act);
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
