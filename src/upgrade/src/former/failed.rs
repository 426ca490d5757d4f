//! What follows when a step has failed: once more, something else, or the end of the request.

use super::arm::count_none;
use super::fold::post_hooks_over;
use super::{System, give_up};
use crate::id::Moment;
use crate::observe::Observation;
use crate::phase::Phase;
use crate::policy::Policy;
use crate::reason::{Disposition, Reason};
use crate::record::{Retry, Upgrade};
use crate::step::Step;

/// The longest pause between two tries, in seconds.
const LONGEST_PAUSE: u64 = 300;

/// A failure, as the rules look at it.
struct Failure<'a> {
    reason: &'a Reason,
    /// It was the last try that the policy allows.
    last: bool,
}

/// What follows.
enum Then {
    /// The step again, after a pause.
    Again,
    /// The image again from the remote, after a pause.
    FetchAgain,
    /// The trial boot that did not come about again, after a pause.
    ArmAgain,
    /// It has come about all the same.
    Settled,
    /// Whether it came about is seen, and it is tried once a boot.
    Seen,
    /// The upgrade ends without it.
    LeaveLying,
    /// The upgrade goes on without the post-hooks.
    GoOn,
    /// The request ends for this reason.
    GiveUp,
    /// A person must look, for the way back does not go on.
    Halt,
}

/// Takes in that a step has failed.
pub(super) fn failed(
    up: &mut Upgrade,
    step: &Step,
    reason: &Reason,
    seen: &Observation,
    policy: &Policy,
) {
    let again = again(up, step.name(), reason, seen, policy);
    let last = again.tries >= policy.tries;
    match then(up, step, &Failure { reason, last }, seen) {
        Then::Again => up.retry = Some(again),
        Then::FetchAgain => {
            up.retry = Some(again);
            up.phase = Phase::Accepted;
        }
        Then::ArmAgain => disarm(up, again, seen),
        Then::Settled => (up.retry, up.phase) = (None, Phase::Blessed),
        Then::Seen => {}
        Then::LeaveLying => up.cleaned = true,
        Then::GoOn => post_hooks_over(up),
        Then::GiveUp => {
            count_none(up, seen);
            give_up(up, reason.clone());
        }
        Then::Halt => halt(up, reason),
    }
}

/// The next try of a step, should there be one: each pause is twice the one before.
fn again(up: &Upgrade, step: &str, reason: &Reason, seen: &Observation, policy: &Policy) -> Retry {
    let before = up.retry.as_ref().filter(|retry| retry.step == step);
    let tries = before.map_or(0, |retry| retry.tries).saturating_add(1);
    let pause = policy
        .retry_seconds
        .saturating_mul(1 << (tries - 1).min(16))
        .min(LONGEST_PAUSE);
    Retry {
        step: step.to_owned(),
        tries,
        due: Moment {
            boot: seen.boot.clone(),
            at: seen.now.plus_seconds(pause),
        },
        reason: reason.clone(),
    }
}

fn then(up: &Upgrade, step: &Step, failure: &Failure<'_>, seen: &Observation) -> Then {
    match step {
        // There is no giving up: the health's deadline ends the one in a trial, and only we take our cordon off.
        Step::Kubeadm | Step::Release => Then::Again,
        Step::Reboot { .. } => reboot(&up.phase, failure),
        Step::Disarm => disarming(up, failure, seen),
        Step::Bless { .. } => bless(failure, seen),
        Step::Reinstate { .. } => Then::Seen,
        Step::Verify { .. } | Step::Deploy { .. } => image(up, failure),
        Step::Undo { .. } | Step::Clean => clean_up(failure),
        Step::PostHooks { .. } => post_hooks(failure),
        Step::Fetch { .. }
        | Step::Rehearse
        | Step::PreHooks
        | Step::Exclude
        | Step::Drain { .. }
        | Step::Snapshot
        | Step::Arm { .. }
        | Step::Unmark
        | Step::Pass => again_if_it_may_help(failure),
    }
}

/// What holds where a step has no rule of its own.
fn again_if_it_may_help(failure: &Failure<'_>) -> Then {
    if failure.reason.disposition() == Disposition::Retry && !failure.last {
        Then::Again
    } else {
        Then::GiveUp
    }
}

/// A request can be given up as long as the node is only armed. Later a reboot is all that is left to a bad trial.
const fn reboot(phase: &Phase, failure: &Failure<'_>) -> Then {
    if !matches!(phase, Phase::Armed { .. }) {
        return Then::Again;
    }
    if failure.last {
        Then::GiveUp
    } else {
        Then::ArmAgain
    }
}

/// On the way back nothing is left to give up, and nothing may go on while an entry is armed: a person is called, and the entry is tried
/// all the same as long as it stands there (`disarm.rs`). A trial that cannot be left for it is ended by the deadman.
fn disarming(up: &Upgrade, failure: &Failure<'_>, seen: &Observation) -> Then {
    if !matches!(up.phase, Phase::Reverting { .. }) {
        return again_if_it_may_help(failure);
    }
    if failure.last && System::of(up, seen) == System::Old {
        Then::Halt
    } else {
        Then::Again
    }
}

/// With the answer that this upgrade would have had.
fn halt(up: &mut Upgrade, reason: &Reason) {
    let mut detail = reason.to_string();
    if let Reason::ArmFailed { detail: said } = reason {
        detail.clone_from(said);
    }
    if let Phase::Reverting { reason } = &up.phase {
        detail = format!("{detail}; the upgrade was on its way back: {reason}");
    }
    up.retry = None;
    up.phase = Phase::Halted {
        reason: Reason::ArmFailed { detail },
    };
}

/// The swap is one rename, and where it has come about, what fails behind it takes nothing back. The rest is done by Clean. A swap that is
/// somebody else's is told so by careen-deploy.
fn bless(failure: &Failure<'_>, seen: &Observation) -> Then {
    let theirs = matches!(failure.reason, Reason::ForeignDefault { .. });
    if seen.runs_default() && !theirs {
        return Then::Settled;
    }
    again_if_it_may_help(failure)
}

/// What was damaged is gone by now, and only a fetch brings it again. Not any more once the node is drained: what is left of
/// its time is for the old system.
fn image(up: &Upgrade, failure: &Failure<'_>) -> Then {
    let damaged = matches!(failure.reason, Reason::Damaged { .. });
    if damaged && up.kept {
        // Nobody has another copy of it.
        return Then::GiveUp;
    }
    if damaged && matches!(up.phase, Phase::Fetched | Phase::Verified) && !failure.last {
        return Then::FetchAgain;
    }
    again_if_it_may_help(failure)
}

/// What cannot be cleaned up is left lying; the next upgrade tries again. The node is more important.
const fn clean_up(failure: &Failure<'_>) -> Then {
    if failure.last {
        Then::LeaveLying
    } else {
        Then::Again
    }
}

/// They decide nothing: no node is kept from its users because of them.
const fn post_hooks(failure: &Failure<'_>) -> Then {
    if failure.last {
        Then::GoOn
    } else {
        Then::Again
    }
}

/// The reboot did not come: this trial boot did not happen, and the one-shot must not wait for some later reboot.
fn disarm(up: &mut Upgrade, again: Retry, seen: &Observation) {
    count_none(up, seen);
    (up.phase, up.snapshot) = (Phase::Drained, false);
    up.retry = Some(again);
}
