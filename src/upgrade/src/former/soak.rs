//! The soak: for how long a new system must be healthy without a break before it is blessed.

use super::alone;
use crate::id::{Moment, SinceBoot};
use crate::observe::{Api, Check, Health, Observation};
use crate::policy::Policy;
use crate::reason::Reason;
use crate::record::Upgrade;

/// A check that does not hold begins the soak anew. One that could not be looked at does not: it is not bad. Nor does one that needs the API
/// server, while that is away from a node that is blessed without it: kubeadm, for one, fails there for as long.
pub(super) fn disturb(up: &mut Upgrade, seen: &Observation, policy: &Policy) {
    let Health {
        runtime, kubelet, ..
    } = &seen.health;
    let remote = [
        &seen.health.kubeadm,
        &seen.health.ready,
        &seen.health.version,
    ];
    let excused = seen.api == Api::Away && alone::is_enough(up, seen, policy);
    let remote = remote.into_iter().filter(|_| !excused);
    let users = seen.health.required.iter().map(|(_, check)| check);
    let fails = |check: &Check| matches!(check, Check::Fail(_) | Check::Broken(_));
    let mut all = [runtime, kubelet].into_iter().chain(remote).chain(users);
    if all.any(fails) {
        (up.well_since, up.waits) = (None, None);
    }
}

/// Until when a system that is healthy now is still watched; nothing when that is over.
pub(super) fn left(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Option<SinceBoot> {
    let seconds = seconds(up, policy);
    if seconds == 0 {
        return None;
    }
    let first = up.well_since.take().filter(|first| first.boot == seen.boot);
    let first = first.unwrap_or_else(|| Moment {
        boot: seen.boot.clone(),
        at: seen.now,
    });
    let until = first.at.plus_seconds(seconds);
    up.well_since = Some(first);
    let left = seen.now < until;
    up.waits = left.then_some(Reason::Soaking { seconds });
    left.then_some(until)
}

/// Until when a system that was well in this boot, and in which nothing has failed since, is watched; nothing where there is no such.
pub(super) fn until(up: &Upgrade, seen: &Observation, policy: &Policy) -> Option<SinceBoot> {
    let first = up.well_since.as_ref()?;
    let here = first.boot == seen.boot;
    here.then(|| first.at.plus_seconds(seconds(up, policy)))
}

/// A requester may ask for more than the operator does, never for less.
fn seconds(up: &Upgrade, policy: &Policy) -> u64 {
    // It parsed when the request was taken.
    let asked = up.request.soak_seconds().ok().flatten();
    policy.health.soak_seconds.max(asked.unwrap_or(0))
}
