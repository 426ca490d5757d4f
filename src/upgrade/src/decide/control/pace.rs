//! How long a look and the lock count, and when the next task is due.

use super::super::change::{Change, Move};
use super::super::decision::Act;
use super::super::situation::Situation;
use crate::control_plane::Task;
use crate::id::Moment;
use crate::reason::Reason;
use crate::record::{Control, Lock, Raise};
use crate::step::Step;

/// How many seconds a look or the lock counts while nothing that others feel is next.
pub(super) const RECENT: u64 = 300;

/// How many seconds before the arming the last look and the last reading of the lock may be. In
/// this time the lock is read and the leadership moved, which take at most 30 s each.
pub(super) const ARMING: u64 = 90;

/// After how many seconds the control plane is looked at again.
pub(super) const AGAIN: u64 = 30;

/// For how many seconds this node's part may be unwell after its turn, before a person must look.
/// A member that was away for a long time receives a snapshot from the leader first.
pub(super) const UNWELL: u64 = 900;

/// Whether a moment is of this boot and not longer ago.
pub(super) fn is_within(seen: &Moment, seconds: u64, s: &Situation<'_>) -> bool {
    seen.boot == s.seen.turn.boot && s.seen.turn.now <= seen.at.plus_seconds(seconds)
}

/// Whether the next answer is not due yet.
pub(super) fn is_fresh(seen: &Moment, s: &Situation<'_>) -> bool {
    seen.boot == s.seen.turn.boot && s.seen.turn.now < seen.at.plus_seconds(AGAIN)
}

/// Begins a task.
pub(super) fn begin(task: Task) -> Move {
    Move::begin(Step::Control { task })
}

/// Begins a look, which leaves what the upgrade waits for as it is.
pub(super) fn look_again(waits: Option<Reason>) -> Move {
    begin(Task::Survey).after([Change::Waits(waits)])
}

/// The task after the pause since it last ran, and until then what is waited for.
pub(super) fn again(task: Task, seen: &Moment, waits: Option<Reason>, s: &Situation<'_>) -> Move {
    let due = seen.at.plus_seconds(AGAIN);
    let act = if is_fresh(seen, s) {
        Act::Wait(Some(due))
    } else {
        Act::Begin(Step::Control { task })
    };
    Move::act(act).after([Change::Waits(waits)])
}

/// The control plane with another lock.
pub(super) fn with_lock(control: &Control, lock: Lock) -> Change {
    Change::Control(Control {
        lock,
        ..control.clone()
    })
}

/// The control plane with another raise. A look from before it no longer counts.
pub(super) fn with_raise(control: &Control, raise: Raise) -> Change {
    Change::Control(Control {
        raise,
        look: None,
        ..control.clone()
    })
}
