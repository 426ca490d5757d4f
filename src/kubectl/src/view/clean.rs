//! The texts in what others wrote as JSON, made fit for a terminal.

use upgrade::history::Past;
use upgrade::plan::Plan;
use upgrade::report::Status;

use crate::plain;

fn clean(text: &mut Option<String>) {
    *text = text.take().map(|text| plain::line(&text));
}

/// A status.
pub(super) fn status(mut status: Status) -> Status {
    status.phase = plain::line(&status.phase);
    for text in [
        &mut status.step,
        &mut status.doing,
        &mut status.code,
        &mut status.reason,
        &mut status.paused,
    ] {
        clean(text);
    }
    if let Some(cause) = &mut status.reverts_for {
        cause.code = plain::line(&cause.code);
        cause.reason = plain::line(&cause.reason);
    }
    for reached in &mut status.reached {
        reached.phase = plain::line(&reached.phase);
    }
    status.percent = status.percent.min(100);
    status
}

/// An upgrade of the past.
pub(super) fn past(mut past: Past) -> Past {
    past.image = plain::line(&past.image);
    clean(&mut past.code);
    clean(&mut past.reason);
    past
}

/// A plan.
pub(super) fn plan(mut plan: Plan) -> Plan {
    for text in [
        &mut plan.code,
        &mut plan.reason,
        &mut plan.opens,
        &mut plan.paused,
    ] {
        clean(text);
    }
    for change in [&mut plan.kubelet, &mut plan.kernel].into_iter().flatten() {
        clean(&mut change.from);
        clean(&mut change.to);
    }
    for package in &mut plan.packages {
        package.name = plain::line(&package.name);
        clean(&mut package.change.from);
        clean(&mut package.change.to);
    }
    for text in plan.etc_conflicts.iter_mut().chain(&mut plan.moving) {
        *text = plain::line(text);
    }
    for room in &mut plan.room {
        room.place = plain::line(&room.place);
    }
    for blocked in &mut plan.blocked {
        blocked.pod = plain::line(&blocked.pod);
        blocked.by = plain::line(&blocked.by);
    }
    plan
}
