//! Folding the outcome of a step that has just ended into the record.

use super::{facts, give_up};
use crate::id::Moment;
use crate::observe::Observation;
use crate::phase::Phase;
use crate::policy::Policy;
use crate::reason::{Disposition, Reason};
use crate::record::{Retry, Upgrade};
use crate::step::{Effect, Finished, Outcome, Step};

/// The longest pause between two tries, in seconds.
const LONGEST_PAUSE: u64 = 300;

/// Takes in how a step ended.
pub(super) fn fold(up: &mut Upgrade, finished: &Finished, seen: &Observation, policy: &Policy) {
    up.intent = None;
    if !belongs(&finished.step, &up.phase) {
        // A late answer to a question that is not asked any more: the phase has moved on, and is believed.
        return;
    }
    match &finished.outcome {
        Outcome::Done(effect) => {
            up.retry = up
                .retry
                .take()
                .filter(|retry| retry.step != finished.step.name());
            done(up, &finished.step, effect, seen, policy);
        }
        Outcome::Failed(reason) => failed(up, &finished.step, reason, seen, policy),
        // The withdrawal that cancelled it is seen in the same observation and decides what follows.
        Outcome::Cancelled => {}
    }
}

/// Whether a step can have been begun in a phase.
const fn belongs(step: &Step, phase: &Phase) -> bool {
    match step {
        Step::Fetch { .. } => matches!(phase, Phase::Accepted),
        Step::Verify { .. } => matches!(phase, Phase::Fetched),
        Step::Rehearse => matches!(phase, Phase::Verified),
        Step::Deploy { .. } => matches!(phase, Phase::Verified | Phase::Drained),
        Step::Drain { .. } => matches!(phase, Phase::Deployed),
        Step::Snapshot => matches!(phase, Phase::Drained),
        Step::Arm { .. } => matches!(phase, Phase::Armed { .. }),
        Step::Kubeadm => matches!(phase, Phase::Trial { .. }),
        Step::Bless { .. } => matches!(phase, Phase::Healthy { .. }),
        // A halted upgrade's cordon goes when somebody asks anew.
        Step::Release => {
            matches!(phase, Phase::Halted { .. }) || !(phase.is_end() || phase.can_be_withdrawn())
        }
        Step::Undo { .. } => matches!(phase, Phase::Reverting { .. }),
        Step::Clean => matches!(phase, Phase::Blessed),
        Step::Disarm => !phase.is_end(),
        Step::Reboot { .. } => {
            matches!(
                phase,
                Phase::Armed { .. }
                    | Phase::Trial { .. }
                    | Phase::Healthy { .. }
                    | Phase::Reverting { .. }
            )
        }
        Step::Pass => false,
    }
}

fn done(up: &mut Upgrade, step: &Step, effect: &Effect, seen: &Observation, policy: &Policy) {
    match (step, effect) {
        (Step::Fetch { .. }, Effect::Fetched { commit }) => {
            up.target.commit = Some(commit.clone());
            let running = *commit == seen.booted.digest;
            up.phase = if running {
                Phase::Upgraded
            } else {
                Phase::Fetched
            };
        }
        (Step::Verify { .. }, Effect::Verified(found)) => {
            match facts::judge(found, up, seen, policy) {
                Ok(()) => up.phase = Phase::Verified,
                Err(reason) => give_up(up, reason),
            }
            up.facts = Some(found.clone());
        }
        (Step::Rehearse, Effect::Rehearsed { blocked }) => {
            up.rehearsed = true;
            up.warning.clone_from(blocked);
        }
        (Step::Deploy { .. }, Effect::Deployed(deployment)) => {
            up.to = Some(deployment.clone());
            up.redeploying = false;
            // A second deployment just before arming changes where it lies, not how far the upgrade is.
            if up.phase == Phase::Verified {
                up.phase = Phase::Deployed;
            }
        }
        (Step::Drain { .. }, _) => up.phase = Phase::Drained,
        (Step::Snapshot, _) => up.snapshot = true,
        (Step::Bless { .. }, _) => up.phase = Phase::Blessed,
        (Step::Release, _) => up.released = true,
        (Step::Undo { .. } | Step::Clean, _) => up.cleaned = true,
        // Their effect is seen, not told: the one-shot entry, the boot, the health. The rest brought no effect of its kind.
        (
            Step::Arm { .. }
            | Step::Disarm
            | Step::Reboot { .. }
            | Step::Kubeadm
            | Step::Pass
            | Step::Fetch { .. }
            | Step::Verify { .. }
            | Step::Rehearse
            | Step::Deploy { .. },
            _,
        ) => {}
    }
}

fn failed(up: &mut Upgrade, step: &Step, reason: &Reason, seen: &Observation, policy: &Policy) {
    let tries = up
        .retry
        .as_ref()
        .filter(|retry| retry.step == step.name())
        .map_or(0, |r| r.tries)
        .saturating_add(1);
    let used_up = tries >= policy.tries;
    let pause = policy
        .retry_seconds
        .saturating_mul(1 << (tries - 1).min(16))
        .min(LONGEST_PAUSE);
    let due = Moment {
        boot: seen.boot.clone(),
        at: seen.now.plus_seconds(pause),
    };
    let again = Retry {
        step: step.name().to_owned(),
        tries,
        due,
        reason: reason.clone(),
    };
    match step {
        // These end an upgrade one way or the other, so there is no giving up: the health's deadline ends Kubeadm, a
        // reboot is all that is left to a bad trial, and only we take our cordon off.
        Step::Kubeadm | Step::Release => up.retry = Some(again),
        Step::Reboot { .. } if matches!(up.phase, Phase::Armed { .. }) && !used_up => {
            disarm(up, again)
        }
        Step::Reboot { .. } if !matches!(up.phase, Phase::Armed { .. }) => up.retry = Some(again),
        // On the way back nothing is left to give up, and nothing may go on while an entry is armed.
        Step::Disarm if matches!(up.phase, Phase::Reverting { .. }) => up.retry = Some(again),
        // The swap is one rename, and it has come about: what fails behind it takes nothing back. The rest is done by Clean.
        Step::Bless { .. } if seen.runs_default() => up.retry = None,
        // What was damaged is gone by now, and only a fetch brings it again.
        Step::Verify { .. } | Step::Deploy { .. }
            if must_be_fetched_again(up, reason) && !used_up =>
        {
            up.retry = Some(again);
            up.phase = Phase::Accepted;
        }
        // What cannot be cleaned up is left lying; the next upgrade tries again. The node is more important.
        Step::Undo { .. } | Step::Clean if used_up => up.cleaned = true,
        Step::Undo { .. } | Step::Clean => up.retry = Some(again),
        Step::Fetch { .. }
        | Step::Verify { .. }
        | Step::Rehearse
        | Step::Deploy { .. }
        | Step::Drain { .. }
        | Step::Snapshot
        | Step::Arm { .. }
        | Step::Disarm
        | Step::Reboot { .. }
        | Step::Bless { .. }
        | Step::Pass => {
            if reason.disposition() == Disposition::Retry && !used_up {
                up.retry = Some(again);
            } else {
                give_up(up, reason.clone());
            }
        }
    }
}

/// Not any more once the node is drained: what is left of its time is for the old system.
fn must_be_fetched_again(up: &Upgrade, reason: &Reason) -> bool {
    matches!(reason, Reason::Damaged { .. }) && matches!(up.phase, Phase::Fetched | Phase::Verified)
}

/// The reboot did not come: this trial boot did not happen, and the one-shot must not wait for some later reboot.
fn disarm(up: &mut Upgrade, again: Retry) {
    up.tries = up.tries.saturating_sub(1);
    up.phase = Phase::Drained;
    up.retry = Some(again);
}
