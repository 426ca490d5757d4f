//! Giving the node back to its users: the operator's hooks, then our cordon, then the lock of the
//! control plane.

use super::change::{Change, Move};
use super::control;
use super::decision::Act;
use super::situation::Situation;
use crate::phase::Phase;
use crate::record::Upgrade;
use crate::step::Step;

/// The next step of it, as long as the API server can be told or may soon be; nothing when the node
/// is given back.
pub(super) fn give_back(up: &Upgrade, s: &Situation<'_>) -> Option<Act> {
    if up.custody.is_given_back() {
        return control::unlock(up, s);
    }
    if let Some(first) = post_hooks(up, s) {
        return Some(first);
    }
    // Without a Node there is nobody to tell.
    if s.reached || !s.joined {
        Some(Act::Begin(Step::Release))
    } else {
        s.connecting()
    }
}

/// The hooks that undo what the pre-hooks did.
pub(super) fn post_hooks(up: &Upgrade, s: &Situation<'_>) -> Option<Act> {
    let upgraded = up.phase == Phase::Blessed;
    let due = up.custody.hooks_due() && s.seen.machine.hooks.post;
    due.then_some(Act::Begin(Step::PostHooks { upgraded }))
}

/// The way back to the users before anything is armed; nothing when they have the node. An earlier
/// trial or a raise may have touched this node's part of the control plane, which is looked at first.
pub(super) fn way_back(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    if !(up.is_taken() || up.holds_the_lock()) {
        return None;
    }
    let next = || match up.is_taken() {
        true => give_back(up, s),
        false => control::unlock(up, s),
    };
    let told_later = || (!up.has_let_go()).then_some(Act::Wait(None));
    let wait = s.backoff(up).map(Move::act);
    wait.or_else(|| control::before_the_release(up, s))
        .or_else(|| next().or_else(told_later).map(Move::act))
}

/// With that, what leads to the arming begins again, also where the reason is gone before all is
/// given back. A step that fails, or whose agent is killed, may have undone what it undoes: the
/// next drain comes after the pre-hooks and the exclusion all the same.
pub(super) fn before_the_drain(up: &Upgrade, first: Option<&Move>) -> Vec<Change> {
    let is_drained = up.phase == Phase::Drained;
    let act = first.and_then(|first| first.act.as_ref());
    let undoes = up.custody.taken().is_some() && act.is_some_and(undoes);
    if !is_drained && !undoes {
        return Vec::new();
    }
    let custody = up.custody.noting(|taken| {
        taken.drain_begun = None;
        if undoes {
            (taken.prepared, taken.excluded) = (false, None);
        }
    });
    let phase = is_drained.then_some(Change::Phase(Phase::Deployed));
    phase
        .into_iter()
        .chain([Change::Custody(custody)])
        .collect()
}

const fn undoes(act: &Act) -> bool {
    matches!(act, Act::Begin(Step::PostHooks { .. } | Step::Release))
}
