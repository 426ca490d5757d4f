//! What comes next while the new system runs: the trial, the blessing, or the way out.

use super::judge::{Judgement, SoFar, judge};
use super::reinstate::{moved, notice, reinstate, told, was_tried};
use super::{Act, alone, disarm, give_up, kubeadm, old, soak};
use crate::id::{Moment, SinceBoot};
use crate::observe::{Api, Check, Observation};
use crate::phase::Phase;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::Step;

/// Patience that the deadman is asked for beyond the agent's own deadline, in seconds.
const DEADMAN_SLACK: u64 = 60;

/// How long a healthy system that is not the default yet is left to make it so, in seconds: three tries of a quarter of an hour each, and what is
/// waited for between them. Behind that the deadman ends the trial, for an agent that cannot go on must not keep the node for ever.
const BLESSING: u64 = 3600;

/// Refused or failed reboots after which force is used: a bad trial must end.
const POLITE_REBOOTS: u32 = 2;

/// On trial: judge, and act on the verdict.
pub(super) fn trial(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    if let Phase::Armed { .. } = up.phase {
        enter_trial(up, seen);
    }
    if let Some(first) = disarm(Some(up), seen) {
        return first;
    }
    if let Some(reason) = unguarded(up, seen, policy) {
        up.given_up = Some(reason);
    }
    notice(up, seen);
    if up.given_up.is_some() {
        return leave(up, seen);
    }
    alone::note(up, seen, policy);
    soak::disturb(up, seen, policy);
    match judge(seen, policy, so_far(up, seen, policy)) {
        Judgement::Healthy => {
            if let Some(until) = soak::left(up, seen, policy) {
                let usual = SinceBoot(0).plus_seconds(policy.health.deadline_seconds);
                return wait(up, seen, until, until > usual);
            }
            up.phase = Phase::Healthy {
                boot: seen.boot.clone(),
            };
            up.kubeadm_due = true;
            if seen.health.kubeadm == Check::Pass {
                kubeadm::configured(up, seen);
            }
            tell_deadman(up, seen, seen.now.plus_seconds(BLESSING));
            healthy(up, seen)
        }
        Judgement::Wait { until, hold } => wait(up, seen, until, hold),
        Judgement::ApiAway(reason) if !up.api_reached_from_old => {
            up.given_up = Some(reason);
            leave(up, seen)
        }
        Judgement::ApiAway(_) => bad(up, seen, Reason::NoApiFromNewSystem),
        Judgement::Bad(reason) => bad(up, seen, reason),
    }
}

/// What the record says of this boot.
fn so_far(up: &Upgrade, seen: &Observation, policy: &Policy) -> SoFar {
    let hold = up.hold.as_ref();
    SoFar {
        held: hold.is_some_and(|until| until.boot == seen.boot),
        soaks_until: soak::until(up, seen, policy),
        alone: alone::is_enough(up, seen, policy),
    }
}

/// kubeadm may hang: it must not carry the trial past its deadline, or the deadman ends it and nobody learns why.
pub(super) fn while_kubeadm(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    if up.phase == Phase::Blessed {
        // Behind the verdict there is no deadline, and it ends by itself.
        return Act::Wait(None);
    }
    match judge(seen, policy, so_far(up, seen, policy)) {
        Judgement::Wait { until, hold } => {
            if hold {
                tell_deadman(up, seen, until);
            }
            Act::Wait(Some(until))
        }
        // It ends by itself.
        Judgement::Healthy => Act::Wait(None),
        Judgement::ApiAway(_) | Judgement::Bad(_) => Act::Cancel,
    }
}

/// The new system runs in this boot. What held up the way here, as a refused reboot, is over.
pub(super) fn enter_trial(up: &mut Upgrade, seen: &Observation) {
    (up.retry, up.kubeadm_due) = (None, false);
    up.phase = Phase::Trial {
        boot: seen.boot.clone(),
    };
}

/// Whether this boot came about past the guard.
fn unguarded(up: &Upgrade, seen: &Observation, policy: &Policy) -> Option<Reason> {
    let same_boot = up.phase
        == Phase::Trial {
            boot: seen.boot.clone(),
        };
    let guarded = up.guarded.as_ref() == Some(&seen.boot) || policy.unguarded;
    (!seen.trial || !guarded || !same_boot).then_some(Reason::UnguardedBoot)
}

fn bad(up: &mut Upgrade, seen: &Observation, reason: Reason) -> Act {
    // What held up the trial holds up no way out of it.
    up.retry = None;
    let reason = told(up, reason);
    up.phase = Phase::Reverting { reason };
    leave(up, seen)
}

fn wait(up: &mut Upgrade, seen: &Observation, until: SinceBoot, hold: bool) -> Act {
    if hold {
        tell_deadman(up, seen, until);
    }
    let reached = matches!(seen.api, Api::Reached { .. });
    match seen.health.kubeadm {
        Check::Fail(_) if reached => match old::pause(up, seen) {
            // The pause before kubeadm's next try must not carry the trial past its deadline.
            Some(Act::Wait(again)) => {
                Act::Wait(Some(again.map_or(until, |again| again.min(until))))
            }
            Some(act) => act,
            None => Act::Begin(Step::Kubeadm),
        },
        Check::Fail(_) | Check::Pass | Check::Pending(_) | Check::Broken(_) => {
            Act::Wait(Some(until))
        }
    }
}

/// The trial goes on behind its usual deadline, until then.
fn tell_deadman(up: &mut Upgrade, seen: &Observation, until: SinceBoot) {
    up.hold = Some(Moment {
        boot: seen.boot.clone(),
        at: until.plus_seconds(DEADMAN_SLACK),
    });
}

/// Every exit of a trial that is not the blessing is a reboot, which is the old system.
pub(super) fn leave(up: &mut Upgrade, seen: &Observation) -> Act {
    if let Some(first) = disarm(Some(up), seen) {
        return first;
    }
    notice(up, seen);
    if seen.trial
        && up.reinstated.is_none()
        && let Some(first) = reinstate(up, seen)
    {
        return first;
    }
    if seen.runs_default() && !was_tried(up, seen) {
        // A reboot would lead here again, for ever.
        give_up(up, seen.foreign_default());
        return Act::Wait(None);
    }
    let failed = up
        .retry
        .as_ref()
        .filter(|retry| retry.step == "Reboot")
        .map_or(0, |retry| retry.tries);
    // Only a reboot that failed is waited for: the pause of kubeadm's next try keeps nobody in a bad trial.
    let pause = old::pause(up, seen).filter(|_| failed > 0);
    pause.unwrap_or(Act::Begin(Step::Reboot {
        force: failed >= POLITE_REBOOTS,
    }))
}

/// Proven in this very boot: make it the default.
pub(super) fn healthy(up: &mut Upgrade, seen: &Observation) -> Act {
    notice(up, seen);
    if seen.runs_default() && !up.is_being_blessed() {
        // Whoever did that is to say whether it shall stay; it is well, and serves.
        give_up(up, moved(seen));
        return Act::Wait(None);
    }
    if seen.runs_default() {
        // The reorder is one rename: where the new one is the default, the blessing is done.
        up.phase = Phase::Blessed;
        return blessed(up, seen);
    }
    if !seen.default_is(&up.from) {
        return overruled(up, seen);
    }
    if up.phase
        != (Phase::Healthy {
            boot: seen.boot.clone(),
        })
    {
        // Healthy in another boot proves nothing of this one (I4).
        return leave(up, seen);
    }
    match (old::pause(up, seen), up.target.commit.clone()) {
        (Some(wait), _) => wait,
        (None, Some(commit)) => {
            up.default_moved = false;
            let over = Some(up.from.clone());
            Act::Begin(Step::Bless { commit, over })
        }
        (None, None) => leave(up, seen),
    }
}

/// Somebody has made a system of their own the default meanwhile. It is not ours to put behind this one. A trial ends by a reboot,
/// which leads to it; a system that came up as the default was blessed before the power went, and serves on.
fn overruled(up: &mut Upgrade, seen: &Observation) -> Act {
    give_up(up, seen.foreign_default());
    if seen.trial {
        Act::Begin(Step::Reboot { force: false })
    } else {
        Act::Wait(None)
    }
}

/// The new system is the default: take the cordon off, tidy up, be done.
pub(super) fn blessed(up: &mut Upgrade, seen: &Observation) -> Act {
    if let Some(wait) = old::pause(up, seen) {
        return wait;
    }
    if let Some(first) = kubeadm::late(up, seen).or_else(|| old::release(up, seen)) {
        return first;
    }
    match (up.released, up.cleaned) {
        (_, false) => Act::Begin(Step::Clean),
        (true, true) if !kubeadm::is_owed(up, seen) => {
            up.phase = Phase::Upgraded;
            Act::Wait(None)
        }
        // For the API server.
        (_, true) => Act::Wait(None),
    }
}
