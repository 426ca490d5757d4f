//! The operator's hours. Outside of them nothing new is begun, and a node that was taken from its users and is not armed yet is given
//! back to them; what is armed goes on to its end. So nothing takes it from them that would not be over before the hours are.

use super::{Act, old};
use crate::id::SinceBoot;
use crate::observe::Observation;
use crate::phase::Phase;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::Step;
use crate::window::Door;

/// After so many seconds the clock on the wall is looked at again: somebody may have put it right meanwhile.
const LOOK_AGAIN: u64 = 3600;

/// What is done instead of going on; nothing while the door is open.
pub(super) fn hold(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Option<Act> {
    let minutes = match takes_next(up) {
        true => policy.window.last_begin_minutes(),
        false => 0,
    };
    let shut = policy.window.shut(seen.wall, minutes);
    let Some(shut) = shut.filter(|_| !may_go_on_outside(up, policy)) else {
        up.waits = None;
        return None;
    };
    up.waits = Some(Reason::WindowClosed { opens: shut.why });
    // Where no hours are ever long enough, or their zone is not known, somebody may mend that.
    let wait = || Act::Wait(Some(wake(seen, shut.opens.unwrap_or(u64::MAX))));
    Some(give_back(up, seen).unwrap_or_else(wait))
}

/// Whether what comes next takes the node from its users. One that is taken already is not left half way for want of minutes.
fn takes_next(up: &Upgrade) -> bool {
    up.phase == Phase::Deployed && !is_taken(up)
}

/// What nobody on the node notices, where the operator lets it begin at any time.
const fn may_go_on_outside(up: &Upgrade, policy: &Policy) -> bool {
    policy.window.fetch_outside
        && match up.phase {
            Phase::Accepted | Phase::Fetched => true,
            Phase::Verified => !up.rehearsed && !policy.drain.skip,
            Phase::Deployed
            | Phase::Drained
            | Phase::Armed { .. }
            | Phase::Trial { .. }
            | Phase::Healthy { .. }
            | Phase::Blessed
            | Phase::Upgraded
            | Phase::Reverting { .. }
            | Phase::Failed { .. }
            | Phase::Halted { .. } => false,
        }
}

/// When a moment of the clock on the wall comes, as far as it can be told now.
fn wake(seen: &Observation, moment: u64) -> SinceBoot {
    let left = moment.saturating_sub(seen.wall);
    seen.now.plus_seconds(left.clamp(1, LOOK_AGAIN))
}

/// The way back to the users; nothing when they have the node.
pub(super) fn give_back(up: &mut Upgrade, seen: &Observation) -> Option<Act> {
    if !is_taken(up) {
        return None;
    }
    // From here on whatever leads to the arming begins anew, also where the hours open again before all is given back: the hooks may be undone.
    if up.phase == Phase::Drained {
        (up.phase, up.taken, up.drain_begun) = (Phase::Deployed, true, None);
    }
    if let Some(first) = old::pause(up, seen).or_else(|| old::release(up, seen)) {
        return Some(first);
    }
    (!up.released).then_some(Act::Wait(None))
}

/// Whether anything of what precedes the arming may have come about, and was not given back.
pub(super) fn is_taken(up: &Upgrade) -> bool {
    up.phase == Phase::Drained || up.is_taken()
}

/// While a step takes the node from its users: it ends with the hours.
pub(super) fn while_taking(seen: &Observation, policy: &Policy) -> Act {
    match policy.window.at(seen.wall) {
        Door::Closed { .. } => Act::Cancel,
        Door::Open { .. } => until_it_closes(Act::Wait(None), seen, policy),
    }
}

/// Whether a step takes the node from its users, or keeps it from them before anything is armed: a slow disk saves for minutes.
pub(super) const fn takes(step: &Step) -> bool {
    matches!(
        step,
        Step::PreHooks | Step::Exclude | Step::Drain { .. } | Step::Snapshot
    )
}

/// No wait outlasts the hours unnoticed.
pub(super) fn until_it_closes(act: Act, seen: &Observation, policy: &Policy) -> Act {
    match (act, policy.window.at(seen.wall)) {
        (Act::Wait(until), Door::Open { until: Some(end) }) => {
            let end = wake(seen, end);
            Act::Wait(Some(until.map_or(end, |until| until.min(end))))
        }
        (act, _) => act,
    }
}
