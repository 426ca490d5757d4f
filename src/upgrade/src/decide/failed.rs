//! What follows when a step has failed: the same step again, another one, or the end of the
//! request.

use super::arm::uncount;
use super::change::Change;
use super::control;
use super::situation::{Situation, System};
use crate::control_plane::Task;
use crate::id::Moment;
use crate::phase::Phase;
use crate::reason::{Disposition, Reason};
use crate::record::{Retry, Upgrade};
use crate::step::Step;

/// The longest pause between two tries, in seconds.
const LONGEST_PAUSE: u64 = 300;

/// What follows.
enum Consequence {
    /// The step again, after a pause.
    Again,
    /// The image again from where it came, after a pause.
    FetchAgain,
    /// The trial boot that did not happen again, after a pause.
    ArmAgain,
    /// It has happened all the same.
    Settled,
    /// Whether it has happened is seen, and it is tried once a boot.
    Seen,
    /// The upgrade ends without it.
    LeaveBehind,
    /// The upgrade goes on without the post-hooks.
    GoOn,
    /// The upgrade goes on without this task of careen-control.
    GoOnWithout(Task),
    /// The request ends for this reason.
    GiveUp,
    /// A person must look, since the way back does not go on.
    Halt,
}

/// A failure, as the rules look at it.
struct Failure<'a> {
    reason: &'a Reason,
    /// The policy allows no further try.
    last: bool,
}

/// The changes that follow from a step that has failed.
pub(super) fn failed(up: &Upgrade, step: &Step, reason: &Reason, s: &Situation<'_>) -> Vec<Change> {
    let again = again(up, step, reason, s);
    let last = again.tries >= s.policy.tries;
    match consequence(up, step, &Failure { reason, last }, s) {
        Consequence::Again => vec![Change::Retry(Some(again))],
        Consequence::FetchAgain => vec![Change::Retry(Some(again)), Change::Phase(Phase::Accepted)],
        Consequence::ArmAgain => arm_again(up, again, s),
        Consequence::Settled => vec![Change::Retry(None), Change::Phase(Phase::Blessed)],
        Consequence::Seen => Vec::new(),
        Consequence::LeaveBehind => vec![Change::Cleaned],
        Consequence::GoOn => post_hooks_over(up),
        Consequence::GoOnWithout(task) => control::go_on_without(up, task, s),
        Consequence::GiveUp => with_uncount(up, s, [Change::GiveUp(reason.clone())]),
        Consequence::Halt => vec![Change::Retry(None), Change::Phase(halted(up, reason))],
    }
}

/// The one-shot entry must not wait for some later reboot, and the next trial has its own snapshot.
fn arm_again(up: &Upgrade, again: Retry, s: &Situation<'_>) -> Vec<Change> {
    let back = [
        Change::Phase(Phase::Drained),
        Change::Saved(false),
        Change::Retry(Some(again)),
    ];
    with_uncount(up, s, back)
}

fn with_uncount<const N: usize>(
    up: &Upgrade,
    s: &Situation<'_>,
    changes: [Change; N],
) -> Vec<Change> {
    uncount(up, s).into_iter().chain(changes).collect()
}

/// A way back that cannot go on: the answer keeps the one that the upgrade had.
fn halted(up: &Upgrade, reason: &Reason) -> Phase {
    let mut detail = reason.to_string();
    if let Reason::ArmFailed { detail: said } = reason {
        detail.clone_from(said);
    }
    if let Phase::Reverting { reason } = &up.phase {
        detail = format!("{detail}; the upgrade was rolling back: {reason}");
    }
    let reason = Reason::ArmFailed { detail };
    Phase::Halted { reason }
}

/// The next try of a step: each pause is twice the one before.
fn again(up: &Upgrade, step: &Step, reason: &Reason, s: &Situation<'_>) -> Retry {
    let before = up.retry.as_ref().filter(|retry| retry.is_of(step.kind()));
    let tries = before.map_or(0, |retry| retry.tries).saturating_add(1);
    let doubled = s
        .policy
        .retry_seconds
        .saturating_mul(1 << (tries - 1).min(16));
    Retry {
        step: step.kind().into(),
        tries,
        due: Moment {
            boot: s.seen.turn.boot.clone(),
            at: s.seen.turn.now.plus_seconds(doubled.min(LONGEST_PAUSE)),
        },
        reason: reason.clone(),
    }
}

fn consequence(up: &Upgrade, step: &Step, failure: &Failure<'_>, s: &Situation<'_>) -> Consequence {
    match step {
        // The health deadline ends the first in a trial; only the agent removes its own cordon.
        Step::Kubeadm | Step::Release => Consequence::Again,
        Step::Reboot { .. } => reboot(&up.phase, failure),
        Step::Disarm => disarm(up, failure, s),
        Step::Bless { .. } => bless(failure, s),
        Step::Reinstate { .. } => Consequence::Seen,
        Step::Verify { .. } | Step::Deploy { .. } => image(up, failure),
        Step::Undo { .. } | Step::Clean => clean_up(failure),
        Step::PostHooks { .. } => post_hooks(failure),
        Step::Control { task } => control_plane(*task, &up.phase, failure),
        Step::Fetch { .. }
        | Step::Rehearse
        | Step::PreHooks
        | Step::Exclude
        | Step::Drain { .. }
        | Step::Snapshot
        | Step::Arm { .. }
        | Step::Unmark
        | Step::Settle
        | Step::Pass => again_if_it_may_help(failure),
    }
}

/// What holds where a step has no rule of its own.
fn again_if_it_may_help(failure: &Failure<'_>) -> Consequence {
    if failure.reason.disposition() == Disposition::Retry && !failure.last {
        Consequence::Again
    } else {
        Consequence::GiveUp
    }
}

/// A request can be given up while the node is only armed. Later a bad trial can only reboot.
const fn reboot(phase: &Phase, failure: &Failure<'_>) -> Consequence {
    if !matches!(phase, Phase::Armed { .. }) {
        return Consequence::Again;
    }
    if failure.last {
        Consequence::GiveUp
    } else {
        Consequence::ArmAgain
    }
}

/// On the way back nothing goes on while an entry is armed. The agent halts and still tries to
/// clear it (`safety.rs`). The deadman ends a trial that cannot be left for it.
fn disarm(up: &Upgrade, failure: &Failure<'_>, s: &Situation<'_>) -> Consequence {
    if !matches!(up.phase, Phase::Reverting { .. }) {
        return again_if_it_may_help(failure);
    }
    if failure.last && s.system(up) == System::Old {
        Consequence::Halt
    } else {
        Consequence::Again
    }
}

/// The swap is one rename. Where it has happened, a later failure undoes nothing; Clean does the
/// rest. careen-deploy tells a swap of somebody else's.
fn bless(failure: &Failure<'_>, s: &Situation<'_>) -> Consequence {
    let theirs = matches!(failure.reason, Reason::ForeignDefault { .. });
    if s.seen.machine.runs_default() && !theirs {
        return Consequence::Settled;
    }
    again_if_it_may_help(failure)
}

/// A damaged image is removed, and only a fetch brings it back. Once the node is drained its users
/// do not wait for that. Nobody has another copy of the kept system.
fn image(up: &Upgrade, failure: &Failure<'_>) -> Consequence {
    let damaged = matches!(failure.reason, Reason::Damaged { .. });
    if damaged && up.kept {
        return Consequence::GiveUp;
    }
    if damaged && matches!(up.phase, Phase::Fetched | Phase::Verified) && !failure.last {
        return Consequence::FetchAgain;
    }
    again_if_it_may_help(failure)
}

/// Nothing goes on over a part of the control plane that nobody could look at, and a lock that is
/// not released holds up the other members. On the way to the trial the upgrade can be given up.
fn control_plane(task: Task, phase: &Phase, failure: &Failure<'_>) -> Consequence {
    match task {
        Task::Yield => Consequence::GoOnWithout(task),
        Task::GiveUp | Task::Unlock => Consequence::Again,
        Task::Survey | Task::Lock | Task::SaveEtcd | Task::Raise if phase.can_be_withdrawn() => {
            again_if_it_may_help(failure)
        }
        Task::Survey | Task::Lock | Task::SaveEtcd | Task::Raise => Consequence::Again,
    }
}

/// The next upgrade tries again to remove what is left. The node is more important.
const fn clean_up(failure: &Failure<'_>) -> Consequence {
    if failure.last {
        Consequence::LeaveBehind
    } else {
        Consequence::Again
    }
}

/// Post-hooks decide nothing: no node is kept from its users because of them.
const fn post_hooks(failure: &Failure<'_>) -> Consequence {
    if failure.last {
        Consequence::GoOn
    } else {
        Consequence::Again
    }
}

/// What the pre-hooks did is undone, as far as it can be.
pub(super) fn post_hooks_over(up: &Upgrade) -> Vec<Change> {
    let custody = up.custody.after_post_hooks();
    vec![Change::Custody(custody), Change::Retry(None)]
}
