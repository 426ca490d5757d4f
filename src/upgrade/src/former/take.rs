//! Taking the node from its users, in the order in which it hurts: hooks that may still say no, load balancers, cordon and drain.

use super::Act;
use super::connecting::unheard;
use crate::id::Moment;
use crate::observe::{Api, Observation};
use crate::policy::Policy;
use crate::record::Upgrade;
use crate::step::Step;

/// The next step of it. Whoever gives the node back later begins with the post-hooks.
pub(super) fn take(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    if let Some(wait) = unheard(seen) {
        // The request may have been taken back meanwhile, or the Node paused.
        return wait;
    }
    (up.taken, up.post_hooks_due, up.released) = (true, true, false);
    up.node = up.node.take().or_else(|| seen.node.clone());
    if seen.hooks.pre && !up.prepared {
        return Act::Begin(Step::PreHooks);
    }
    exclusion(up, seen, policy).unwrap_or_else(|| Act::Begin(drain(up, seen)))
}

/// Asks load balancers to leave the node out, and gives them time for it; nothing when that is over.
fn exclusion(up: &Upgrade, seen: &Observation, policy: &Policy) -> Option<Act> {
    if !policy.load_balancer.exclude {
        return None;
    }
    let Some(since) = &up.excluded else {
        return Some(match seen.api {
            Api::Reached { .. } => Act::Begin(Step::Exclude),
            Api::Away => Act::Wait(None),
        });
    };
    let until = since.at.plus_seconds(policy.load_balancer.wait_seconds);
    (since.boot == seen.boot && seen.now < until).then_some(Act::Wait(Some(until)))
}

/// The drain, whose time runs since it was begun first in this boot: no restart of the agent extends the cordon.
fn drain(up: &mut Upgrade, seen: &Observation) -> Step {
    let first = up
        .drain_begun
        .take()
        .filter(|first| first.boot == seen.boot);
    let begun = first.unwrap_or_else(|| Moment {
        boot: seen.boot.clone(),
        at: seen.now,
    });
    let spent_seconds = seen.now.seconds_since(begun.at);
    up.drain_begun = Some(begun);
    Step::Drain { spent_seconds }
}
