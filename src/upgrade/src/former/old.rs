//! What comes next while the old system runs: on the way to the trial, and back from it.

use super::allowed::{asks_for_other_signatures, check_again, lacks_the_verdict_of_skopeo};
use super::called_off::called_off;
use super::connecting::{connecting, unheard};
use super::reinstate::reinstate;
use super::{Act, arm, disarm, give_up, hold, take, uncounted};
use crate::image::Deployment;
use crate::observe::{Api, Asked, Observation};
use crate::phase::Phase;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::{Step, skew};
use crate::target::{Target, Wanted};

/// From `Accepted` to `Drained`: the next step towards arming.
pub(super) fn prepare(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    up.api_seen_from_old |= matches!(seen.api, Api::Reached { .. });
    let refused = || check_again(up, seen, policy).err();
    if let Some(reason) = called_off(up, seen).or_else(refused) {
        give_up(up, reason);
        return revert(up, seen);
    }
    if let Some(first) = disarm(Some(up), seen) {
        return first;
    }
    if let Some(first) = came_late(up, seen) {
        return first;
    }
    let held = is_held(up, seen);
    if let Some(instead) = hold::hold(up, seen, policy) {
        return instead;
    }
    if held {
        // A node that was taken from its users is given back with the end of the hours all the same.
        return hold::until_it_closes(Act::Wait(None), seen, policy);
    }
    let act = pause(up, seen).unwrap_or_else(|| next(up, seen, policy));
    hold::until_it_closes(act, seen, policy)
}

/// Our cordon, or our word to load balancers, on a node that is not taken: a slow API server has carried it out behind the release.
fn came_late(up: &Upgrade, seen: &Observation) -> Option<Act> {
    let reached = matches!(seen.api, Api::Reached { .. });
    (reached && !hold::is_taken(up)).then(|| uncounted::lift(seen))?
}

fn next(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    // Without a commit nothing is fetched, whatever the phase says.
    let Some(commit) = up.target.commit.clone() else {
        return fetch(up, policy);
    };
    if up.phase != Phase::Accepted && lacks_the_verdict_of_skopeo(up, policy) {
        return fetch_again(up, seen, policy);
    }
    match &up.phase {
        Phase::Accepted => fetch(up, policy),
        Phase::Fetched => Act::Begin(Step::Verify { commit }),
        Phase::Verified => verified(up, commit, seen, policy),
        Phase::Deployed if up.redeploying || asks_for_other_signatures(up, policy) => {
            deploy_anew(up, commit, policy)
        }
        Phase::Deployed => take::take(up, seen, policy),
        Phase::Drained => drained(up, commit, seen, policy),
        // The table leads none of these here.
        Phase::Armed { .. }
        | Phase::Trial { .. }
        | Phase::Healthy { .. }
        | Phase::Blessed
        | Phase::Upgraded
        | Phase::Reverting { .. }
        | Phase::Failed { .. }
        | Phase::Halted { .. } => Act::Wait(None),
    }
}

/// Whether the requester has paused the Node: then no further step towards arming is begun. What was seen last holds until the
/// Node is seen again.
fn is_held(up: &mut Upgrade, seen: &Observation) -> bool {
    match seen.request {
        Asked::Unknown => {}
        Asked::Nothing | Asked::This(_) => up.held = seen.paused.is_some(),
    }
    up.held
}

/// From where it was asked for: what was armed once no longer says so.
fn fetch(up: &mut Upgrade, policy: &Policy) -> Act {
    let goes_on = matches!(up.intent, Some(Step::Fetch { .. }));
    note_signatures(up, policy, goes_on);
    let target = match up.wanted() {
        Wanted::Image(asked) => Target {
            commit: up.target.commit.clone(),
            ..asked
        },
        Wanted::Kept => up.target.clone(),
    };
    Act::Begin(Step::Fetch { target })
}

/// No layer comes a second time. Users have the node while a registry is asked.
fn fetch_again(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    if let Some(first) = hold::give_back(up, seen) {
        return first;
    }
    up.redeploying |= up.to.is_some();
    (up.phase, up.intent) = (Phase::Accepted, None);
    fetch(up, policy)
}

/// The pause before another try, if one is due.
pub(super) fn pause(up: &Upgrade, seen: &Observation) -> Option<Act> {
    let due = &up.retry.as_ref()?.due;
    (due.boot == seen.boot && seen.now < due.at).then_some(Act::Wait(Some(due.at)))
}

fn verified(
    up: &mut Upgrade,
    commit: crate::id::Digest,
    seen: &Observation,
    policy: &Policy,
) -> Act {
    match skew_now(up, seen, policy) {
        None => Act::Wait(None),
        Some(Err(reason)) => {
            give_up(up, reason);
            revert(up, seen)
        }
        // Where no pod is evicted no budget is in the way.
        Some(Ok(())) if !up.rehearsed && !policy.drain.skip => Act::Begin(Step::Rehearse),
        Some(Ok(())) => deploy(up, commit, policy),
    }
}

fn deploy(up: &mut Upgrade, commit: crate::id::Digest, policy: &Policy) -> Act {
    let goes_on = matches!(up.intent, Some(Step::Deploy { .. }));
    note_signatures(up, policy, goes_on);
    Act::Begin(Step::Deploy { commit })
}

/// A step asks for signatures by the policy as it is now. A run that a killed agent has begun did
/// so by the policy of then, and that note stays.
fn note_signatures(up: &mut Upgrade, policy: &Policy, goes_on: bool) {
    if !goes_on || up.signatures.is_none() {
        up.signatures = Some(policy.into());
    }
}

fn deploy_anew(up: &mut Upgrade, commit: crate::id::Digest, policy: &Policy) -> Act {
    up.redeploying = true;
    deploy(up, commit, policy)
}

/// The skew against the API server as it is now; nothing when its version is not known.
pub(super) fn skew_now(
    up: &Upgrade,
    seen: &Observation,
    policy: &Policy,
) -> Option<Result<(), Reason>> {
    let Api::Reached {
        version: Some(server),
        ..
    } = &seen.api
    else {
        return None;
    };
    let kubelet = &up.facts.as_ref()?.info.as_ref()?.kubernetes;
    Some(skew(kubelet, server, policy.skew))
}

fn drained(
    up: &mut Upgrade,
    commit: crate::id::Digest,
    seen: &Observation,
    policy: &Policy,
) -> Act {
    if let Some(wait) = unheard(seen) {
        // Back from a trial: the request may have been taken back meanwhile, the API server been upgraded.
        return wait;
    }
    if let Some(Err(reason)) = skew_now(up, seen, policy) {
        give_up(up, reason);
        return revert(up, seen);
    }
    let saw_none = matches!(
        up.given_up,
        Some(Reason::ApiAwayInTrial { .. } | Reason::NoApiFromNewSystem)
    );
    if saw_none && !up.api_reached_from_old {
        // Only when this system sees an API server is there something to compare with the last trial.
        match seen.api {
            Api::Away => return Act::Wait(None),
            Api::Reached { .. } => up.api_reached_from_old = true,
        }
    }
    if seen.uncordoned {
        return drain_anew(up, seen, policy);
    }
    if up.redeploying || asks_for_other_signatures(up, policy) {
        // A cut came into it: the former deployment may be there still, or gone already.
        return deploy_anew(up, commit, policy);
    }
    match place_of_target(up, seen) {
        Err(reason) => {
            give_up(up, reason);
            revert(up, seen)
        }
        Ok(_) if seen.etc_stale || !seen.default_is_pinned() => redeploy(up, commit, seen, policy),
        Ok(_) if !up.snapshot => Act::Begin(Step::Snapshot),
        Ok(deployment) => arm::arm(up, deployment, seen, policy),
    }
}

/// Somebody has taken the cordon off since the drain: pods may be back, and the reboot would end them unasked. The node is taken once more, a
/// bounded number of times, for whoever does that may be a program.
fn drain_anew(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    match back_before_the_drain(up, policy) {
        Ok(()) => take::take(up, seen, policy),
        Err(reason) => {
            give_up(up, reason);
            revert(up, seen)
        }
    }
}

pub(super) fn back_before_the_drain(up: &mut Upgrade, policy: &Policy) -> Result<(), Reason> {
    if up.recordoned >= policy.tries {
        let detail = format!(
            "the cordon was removed {} times after the drain; find out who uncordons this Node",
            up.recordoned
        );
        return Err(Reason::DrainRefused { detail });
    }
    up.recordoned = up.recordoned.saturating_add(1);
    (up.phase, up.drain_begun) = (Phase::Deployed, None);
    Ok(())
}

/// /etc has changed since the deployment, or somebody has taken the pin off the old system, which is set with each deployment. The node is
/// cordoned by now, so this is done a bounded number of times.
fn redeploy(
    up: &mut Upgrade,
    commit: crate::id::Digest,
    seen: &Observation,
    policy: &Policy,
) -> Act {
    if up.redeployed >= policy.tries {
        give_up(up, keeps_changing(up.redeployed, seen));
        return revert(up, seen);
    }
    up.redeployed = up.redeployed.saturating_add(1);
    deploy_anew(up, commit, policy)
}

fn keeps_changing(times: u32, seen: &Observation) -> Reason {
    if seen.etc_stale {
        let detail = format!(
            "something keeps changing it: it still differed after {times} deployments in a row; find the program that modifies it"
        );
        return Reason::EtcMerge { detail };
    }
    Reason::DeployFailed {
        verb: "deploy".to_owned(),
        detail: format!(
            "something keeps removing the pin of the running system, which a trial falls back to: the pin was missing after {times} deployments in a row; find what runs `ostree admin pin --unpin`"
        ),
    }
}

/// The new deployment must lie there, and the old one be the default and stay it: only then does an unfinished trial fall back. What somebody
/// has staged moves the menu at the very shutdown that leads into the trial, under the position that is armed.
pub(super) fn place_of_target(up: &Upgrade, seen: &Observation) -> Result<Deployment, Reason> {
    let lies = |to: &&Deployment| seen.deployments.iter().any(|there| there.same(to));
    let Some(to) = up.to.as_ref().filter(lies) else {
        let commit = up
            .commit()
            .map_or_else(String::new, |commit| commit.short().to_owned());
        return Err(Reason::TargetVanished { commit });
    };
    if seen.default_is(&up.from) && !seen.staged {
        Ok(to.clone())
    } else {
        Err(seen.foreign_default())
    }
}

/// The old system is back and no verdict was recorded: a power cut, a panic and a hang look alike.
pub(super) fn after_trial(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    if let Some(first) = disarm(Some(up), seen) {
        return first;
    }
    if let Some(first) = reinstate(up, seen) {
        return first;
    }
    if up.to.as_ref().is_some_and(|to| seen.default_is(to)) {
        return chosen_by_hand(up, seen);
    }
    if up.tries < policy.trials {
        up.phase = again_from(up);
        return prepare(up, seen, policy);
    }
    let reason = up.given_up.clone().unwrap_or_else(|| no_verdict(up));
    up.phase = Phase::Reverting { reason };
    revert(up, seen)
}

/// Where the next trial begins, with a snapshot of its own: since the last one was put back, this system has served. A blessing that was seen and not yet flushed can go with the power. By then our cordon may
/// be off and pods be back, whether or not that was still written down, so the node is drained once more.
fn again_from(up: &mut Upgrade) -> Phase {
    (up.cleaned, up.snapshot) = (false, false);
    (up.redeployed, up.recordoned) = (0, 0);
    // Another deployment forgets the blessing that was begun: a swap by somebody else is not ours.
    up.redeploying |= matches!(up.phase, Phase::Healthy { .. } | Phase::Blessed);
    let released = std::mem::take(&mut up.released);
    if released || up.phase == Phase::Blessed {
        (up.prepared, up.excluded) = (false, None);
        Phase::Deployed
    } else {
        Phase::Drained
    }
}

/// The new system is the default and somebody booted the old one from the menu. The old one is proven and serves, so it must not stay
/// cordoned; which of the two is to stay, only a person can say.
fn chosen_by_hand(up: &mut Upgrade, seen: &Observation) -> Act {
    if let Some(first) = pause(up, seen).or_else(|| release(up, seen)) {
        return first;
    }
    if up.released {
        give_up(up, seen.foreign_default());
    }
    Act::Wait(None)
}

fn no_verdict(up: &Upgrade) -> Reason {
    let commit = up
        .commit()
        .map_or_else(String::new, |commit| commit.short().to_owned());
    Reason::NoVerdict {
        commit,
        tries: up.tries,
    }
}

/// What comes before cleaning up: the operator's hooks, then our cordon, as long as the API server can be told or soon may be.
pub(super) fn release(up: &Upgrade, seen: &Observation) -> Option<Act> {
    if up.released {
        return None;
    }
    if let Some(first) = post_hooks(up, seen) {
        return Some(first);
    }
    match seen.api {
        Api::Reached { .. } => Some(Act::Begin(Step::Release)),
        Api::Away => connecting(seen),
    }
}

/// The hooks that undo what the pre-hooks did, while the node is not given back yet.
pub(super) fn post_hooks(up: &Upgrade, seen: &Observation) -> Option<Act> {
    let upgraded = up.phase == Phase::Blessed;
    let due = up.post_hooks_due && seen.hooks.post;
    due.then_some(Act::Begin(Step::PostHooks { upgraded }))
}

/// Back in the old system for good: nothing armed, schedulable again, the new deployment gone, then the answer.
pub(super) fn revert(up: &mut Upgrade, seen: &Observation) -> Act {
    if let Some(first) = disarm(Some(up), seen) {
        return first;
    }
    if let Some(wait) = pause(up, seen) {
        return wait;
    }
    // A halted upgrade is left as it is, for a person to look at.
    let Phase::Reverting { reason } = up.phase.clone() else {
        return Act::Wait(None);
    };
    if let Some(first) = release(up, seen).or_else(|| reinstate(up, seen)) {
        return first;
    }
    if up.default_moved && up.to.as_ref().is_some_and(|to| seen.default_is(to)) {
        // What failed is booted next, and is not removed.
        return chosen_by_hand(up, seen);
    }
    if !up.cleaned {
        // Also without a commit: an agent that was restarted does not know whether the fetch still runs.
        let commit = up.target.commit.clone();
        return Act::Begin(Step::Undo { commit });
    }
    // Our cordon stays until the API server can be told.
    if up.released {
        up.phase = Phase::Failed { reason };
    }
    Act::Wait(None)
}
