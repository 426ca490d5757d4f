//! On the way to the trial: the looks, the lock, the snapshot, the raise, the leadership.

use super::super::change::{Change, Move};
use super::super::situation::Situation;
use super::after;
use super::pace::{AGAIN, ARMING, RECENT, again, begin, is_within, look_again, with_raise};
use super::patience;
use crate::control_plane::{Code, Task};
use crate::id::Moment;
use crate::reason::Reason;
use crate::record::{Control, Lock, Raise, Upgrade};
use crate::step::StepKind;

/// Before the new system is written: what speaks against the upgrade is said before anything
/// changes.
pub(in super::super) fn before_the_deployment(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    let control = up.control.as_ref()?;
    match &control.look {
        // A look of an earlier hour has said that nothing is in the way.
        Some(look) if look.waits.is_none() => None,
        Some(_) | None => look(control, RECENT, s),
    }
}

/// Before the node is taken from its users: the lock, then a look at all members, then the
/// snapshot.
pub(in super::super) fn before_the_drain(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    let control = up.control.as_ref()?;
    if is_cut_raise(control, s) {
        return None;
    }
    lock(up, control, RECENT, s)
        .or_else(|| look(control, RECENT, s))
        .or_else(|| after::before_it_leaves(up, control, s))
        .or_else(|| control.snapshot.is_due().then(|| begin(Task::SaveEtcd)))
}

/// Whether a raise that was cut, or did not end well, may itself keep the API server or this node's
/// part from serving. Nobody else repairs that, so the raise goes on, and its tries count. kubeadm
/// runs only when the API server answers again.
fn is_cut_raise(control: &Control, s: &Situation<'_>) -> bool {
    let begun = control.raise == Raise::Begun && control.holds_the_lock();
    let look = control.look.as_ref();
    let look = look.filter(|look| is_within(&look.seen, RECENT, s));
    let is_hurt = look.is_some_and(|look| look.hurt.is_some());
    begun && (!s.reached || is_hurt)
}

/// When users and load balancers have left the node: the raise, if kubeadm has work to do.
pub(in super::super) fn raise(up: &Upgrade) -> Option<Move> {
    let control = up.control.as_ref()?;
    let has_work = control.look.as_ref().is_some_and(|look| look.raises);
    match &control.raise {
        Raise::Due if has_work => {
            Some(begin(Task::Raise).after([with_raise(control, Raise::Begun)]))
        }
        Raise::Begun => Some(begin(Task::Raise)),
        Raise::Due | Raise::Raised { .. } | Raise::GivenUp => None,
    }
}

/// Whether kubeadm has begun and not ended well. Static pods of two versions are not left until the
/// operator's next hours.
pub(in super::super) fn must_go_on(up: &Upgrade) -> bool {
    let control = up.control.as_ref();
    control.is_some_and(|control| control.raise == Raise::Begun)
}

/// Before the node goes away: the lock is still this upgrade's, another member leads, and the
/// others are seen to keep the quorum.
pub(in super::super) fn before_the_arming(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    let control = up.control.as_ref()?;
    // A person may have removed it in the drain.
    lock(up, control, ARMING, s)
        .or_else(|| lead(control, s))
        .or_else(|| look(control, ARMING, s))
        .or_else(|| after::before_it_leaves(up, control, s))
}

/// Whether an armed node must look once more, because its reboot was refused for some time.
pub(in super::super) fn is_stale(up: &Upgrade, s: &Situation<'_>) -> bool {
    up.control.as_ref().is_some_and(|control| {
        let look = control.look.as_ref();
        let looked = look.is_some_and(|look| is_within(&look.seen, RECENT, s));
        !looked || lock(up, control, RECENT, s).is_some()
    })
}

fn lock(up: &Upgrade, control: &Control, recent: u64, s: &Situation<'_>) -> Option<Move> {
    match &control.lock {
        Lock::Held { seen } if is_within(seen, recent, s) => None,
        // Its return is seen.
        Lock::Free | Lock::Asked | Lock::Held { .. } | Lock::Busy { .. } if !s.reached => {
            Some(Move::wait())
        }
        Lock::Busy { seen, holder } => {
            let waits = Reason::ControlPlaneWaits {
                finding: Code::ControlPlaneBusy.name().to_owned(),
                detail: format!("{holder} has its turn"),
            };
            Some(wait(Task::Lock, control, seen, waits, s))
        }
        Lock::Free | Lock::Asked | Lock::Held { .. } => {
            let ask = || begin(Task::Lock).after([Change::Control(control.asking())]);
            Some(look_after_a_failure(up, control, s).unwrap_or_else(ask))
        }
    }
}

/// A lock that failed is asked for again when a look has found nothing to wait for. So an API server
/// that is away, or an etcd without a quorum, costs one try for as long as it lasts.
fn look_after_a_failure(up: &Upgrade, control: &Control, s: &Situation<'_>) -> Option<Move> {
    let retry = up.retry.as_ref();
    let failed = retry.is_some_and(|retry| retry.is_of(StepKind::Control(Task::Lock)));
    failed.then(|| look(control, AGAIN, s)).flatten()
}

fn look(control: &Control, recent: u64, s: &Situation<'_>) -> Option<Move> {
    let Some(look) = &control.look else {
        let first = if s.reached {
            look_again(None)
        } else {
            Move::wait()
        };
        return Some(first);
    };
    match &look.waits {
        Some(_) | None if !s.reached && !is_within(&look.seen, recent, s) => Some(Move::wait()),
        Some(waits) => Some(wait(Task::Survey, control, &look.seen, waits.clone(), s)),
        None if is_within(&look.seen, recent, s) => None,
        None => Some(look_again(None)),
    }
}

/// The task once more after its pause, or the end of the upgrade if the policy's patience is over.
fn wait(task: Task, control: &Control, seen: &Moment, waits: Reason, s: &Situation<'_>) -> Move {
    match patience::ended(control, (&waits, seen), s) {
        Some(reason) => Move::give_up(reason),
        None => again(task, seen, Some(waits), s),
    }
}

fn lead(control: &Control, s: &Situation<'_>) -> Option<Move> {
    let yielded = control.yielded.as_ref();
    let is_recent = yielded.is_some_and(|seen| is_within(seen, RECENT, s));
    (!is_recent).then(|| begin(Task::Yield))
}
