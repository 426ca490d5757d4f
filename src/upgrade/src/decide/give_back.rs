//! Giving the node back to its users: the operator's hooks, then our cordon.

use super::decision::Act;
use super::situation::Situation;
use crate::phase::Phase;
use crate::progress::Upgrade;
use crate::step::Step;

/// The next step of it, as long as the API server can be told or may soon be; nothing when the node
/// is given back.
pub(super) fn give_back(up: &Upgrade, s: &Situation<'_>) -> Option<Act> {
    if up.custody.is_given_back() {
        return None;
    }
    if let Some(first) = post_hooks(up, s) {
        return Some(first);
    }
    if s.reached {
        Some(Act::Begin(Step::Release))
    } else {
        s.connecting()
    }
}

/// The hooks that undo what the pre-hooks did.
pub(super) fn post_hooks(up: &Upgrade, s: &Situation<'_>) -> Option<Act> {
    let upgraded = up.phase == Phase::Blessed;
    let due = up.custody.hooks_due() && s.seen.hooks.post;
    due.then_some(Act::Begin(Step::PostHooks { upgraded }))
}
