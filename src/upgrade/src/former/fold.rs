//! Folding the outcome of a step that has just ended into the record.

use super::{facts, failed, give_up, kubeadm};
use crate::id::Moment;
use crate::observe::Observation;
use crate::phase::Phase;
use crate::policy::Policy;
use crate::record::Upgrade;
use crate::step::{Effect, Finished, Outcome, Step};

/// Takes in how a step ended.
pub(super) fn fold(up: &mut Upgrade, finished: &Finished, seen: &Observation, policy: &Policy) {
    if finished.step == Step::Unmark {
        return;
    }
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
        Outcome::Failed(reason) => failed::failed(up, &finished.step, reason, seen, policy),
        // What cancelled it, a withdrawal or a deadline, is seen in the same observation and decides what follows.
        Outcome::Cancelled => {}
    }
}

/// Whether a step can have been begun in a phase.
const fn belongs(step: &Step, phase: &Phase) -> bool {
    match step {
        Step::Fetch { .. } => matches!(phase, Phase::Accepted),
        Step::Verify { .. } => matches!(phase, Phase::Fetched),
        Step::Rehearse => matches!(phase, Phase::Verified),
        Step::Deploy { .. } => matches!(phase, Phase::Verified | Phase::Deployed | Phase::Drained),
        Step::PreHooks | Step::Exclude | Step::Drain { .. } => matches!(phase, Phase::Deployed),
        Step::Snapshot => matches!(phase, Phase::Drained),
        Step::Arm { .. } => matches!(phase, Phase::Armed { .. }),
        Step::Kubeadm => matches!(phase, Phase::Trial { .. } | Phase::Blessed),
        Step::Bless { .. } => matches!(phase, Phase::Healthy { .. }),
        Step::Reinstate { .. } => !(phase.is_end() || phase.can_be_withdrawn()),
        // A halted upgrade's cordon goes when somebody asks anew; before the arming it goes with the operator's hours.
        Step::PostHooks { .. } | Step::Release => {
            let halted = matches!(phase, Phase::Halted { .. });
            let taken = matches!(phase, Phase::Deployed | Phase::Drained);
            halted || taken || !(phase.is_end() || phase.can_be_withdrawn())
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
        // It is of the Node, and of no upgrade.
        Step::Unmark | Step::Pass => false,
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
            match facts::judge(found, &(&*up).into(), seen, policy) {
                Ok(()) => up.phase = Phase::Verified,
                Err(reason) => give_up(up, reason),
            }
            up.facts = Some(found.clone());
        }
        (Step::Rehearse, Effect::Rehearsed { blocked }) => {
            (up.rehearsed, up.api_seen_from_old) = (true, true);
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
        (Step::PreHooks, _) => up.prepared = true,
        (Step::Exclude, _) => {
            up.excluded = Some(Moment {
                boot: seen.boot.clone(),
                at: seen.now,
            });
        }
        // Whoever had the node until now has changed what was saved before.
        (Step::Drain { .. }, _) => {
            // No drain ends without the API server, however short it was there.
            up.api_seen_from_old = true;
            (up.phase, up.snapshot) = (Phase::Drained, false);
        }
        (Step::PostHooks { .. }, _) => post_hooks_over(up),
        (Step::Snapshot, _) => up.snapshot = true,
        (Step::Bless { .. }, _) => up.phase = Phase::Blessed,
        (Step::Kubeadm, _) => kubeadm::configured(up, seen),
        (Step::Release, _) => given_back(up),
        (Step::Undo { .. } | Step::Clean, _) => up.cleaned = true,
        // Their effect is seen, not told: the one-shot entry, the boot, the health. The rest brought no effect of its kind.
        (
            Step::Arm { .. }
            | Step::Disarm
            | Step::Reboot { .. }
            | Step::Unmark
            | Step::Reinstate { .. }
            | Step::Pass
            | Step::Fetch { .. }
            | Step::Verify { .. }
            | Step::Rehearse
            | Step::Deploy { .. },
            _,
        ) => {}
    }
}

/// The users have the node. The next time that it is taken from them begins anew, with the pre-hooks.
fn given_back(up: &mut Upgrade) {
    (up.released, up.taken, up.prepared) = (true, false, false);
    (up.node, up.excluded, up.drain_begun) = (None, None, None);
}

/// What the pre-hooks did is undone, as far as it goes.
pub(super) fn post_hooks_over(up: &mut Upgrade) {
    (up.post_hooks_due, up.prepared) = (false, false);
    up.retry = None;
}
