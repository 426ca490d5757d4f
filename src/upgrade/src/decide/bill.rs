//! The bill of an upgrade: which of its watches run, by what was decided. They decide nothing.

use super::change::Change;
use super::decision::Act;
use super::situation::Situation;
use crate::bill::{Bill, Now};
use crate::observe::Check;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::Record;
use crate::record::Upgrade;
use crate::step::{Home, Step};

/// Starts and stops the watches. `before` is the record as it was read.
pub(super) fn charge(before: &Record, up: &Upgrade, act: &Act, s: &Situation<'_>) -> Vec<Change> {
    // The initramfs may have no clock, and nothing begins or ends there that the agent does not
    // see.
    if s.seen.turn.home == Home::Stage {
        return Vec::new();
    }
    let mut bill = up.bill.clone();
    let waited = waiting(&mut bill, up, act, s);
    cordon(&mut bill, before, up, act, s);
    reboot(&mut bill, up, act, s);
    let mut changes = vec![Change::Waited(waited)];
    if bill != up.bill {
        changes.push(Change::Bill(bill));
    }
    changes
}

/// The watch over the waiting, and what it shows more now that it is over. That is of the phase
/// that was reached before.
fn waiting(bill: &mut Bill, up: &Upgrade, act: &Act, s: &Situation<'_>) -> u64 {
    let now = Now::from(s.seen);
    if waits_for_the_operator(up, act, s) {
        bill.waiting.start(now);
        return 0;
    }
    let before = bill.waiting.seconds;
    bill.waiting.stop(now);
    bill.waiting.seconds.saturating_sub(before)
}

/// Whether nothing is done that could be done. A step under way is work also while the Node is
/// paused, and so is a pause before another try.
fn waits_for_the_operator(up: &Upgrade, act: &Act, s: &Situation<'_>) -> bool {
    let closed = matches!(up.waits, Some(Reason::WindowClosed { .. }));
    let idle = s.seen.turn.running.is_none() && matches!(act, Act::Wait(_));
    idle && up.phase.can_be_withdrawn() && (up.paused || closed)
}

fn cordon(bill: &mut Bill, before: &Record, up: &Upgrade, act: &Act, s: &Situation<'_>) {
    let now = Now::from(s.seen);
    if let Act::Begin(Step::Drain { .. }) = act {
        bill.cordoned.start(now);
    }
    let was = before.upgrade.as_ref().filter(|was| was.id == up.id);
    let just = was.is_none_or(|was| was.phase != Phase::Drained);
    if up.phase == Phase::Drained && just {
        bill.drained.start(now);
    }
    if up.custody.is_given_back() {
        bill.cordoned.stop(now);
        bill.drained.stop(now);
    }
}

fn reboot(bill: &mut Bill, up: &Upgrade, act: &Act, s: &Situation<'_>) {
    let now = Now::from(s.seen);
    let ended = up.phase.is_end();
    let begins = !ended && matches!(act, Act::Begin(Step::Reboot { .. }));
    let watch = &mut bill.not_ready;
    let here = watch.started_in(&s.seen.turn.boot);
    if here && (begins || ended) {
        // The reboot that was asked for did not come, and has taken nobody's time.
        watch.since = None;
    }
    // A trial that is not judged yet serves nobody, and a record of its own for its being Ready
    // would be one write more.
    let judged = !matches!(up.phase, Phase::Trial { .. });
    let back = s.seen.turn.health.ready == Check::Pass && judged && !here;
    if begins {
        watch.start(now);
    } else if ended || back {
        watch.stop(now);
    }
}
