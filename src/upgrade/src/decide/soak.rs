//! The soak: how long a new system must be healthy without a break before it is blessed.

use super::alone;
use super::serving::compared;
use super::situation::Situation;
use crate::id::{Moment, SinceBoot};
use crate::observe::{Check, Health};
use crate::record::Upgrade;

/// A soak in this boot.
pub(super) struct Soak {
    /// When it began.
    pub(super) since: Moment,
    /// When it is over.
    pub(super) until: SinceBoot,
    /// How long it is.
    pub(super) seconds: u64,
    /// Whether the operator or the requester asks for it, or only the steadiness does.
    pub(super) is_asked: bool,
}

/// Since when the system is healthy without a break, as far as was noted. A check that fails ends
/// that. A check that could not run is not bad. Nor is one that needs the API server while that is
/// away from a node that is blessed without it: kubeadm, for one, fails there for as long.
pub(super) fn well_since(up: &Upgrade, s: &Situation<'_>) -> Option<Moment> {
    up.attempt
        .well_since
        .clone()
        .filter(|_| !is_disturbed(up, s))
}

/// Whether a check fails.
pub(super) fn is_disturbed(up: &Upgrade, s: &Situation<'_>) -> bool {
    let Health {
        runtime,
        kubelet,
        sandbox,
        credential: _,
        kubeadm,
        ready,
        version,
        pod_network,
        required,
        causes: _,
    } = &s.seen.turn.health;
    let excused = !s.reached && alone::is_enough(up, s);
    let remote = [kubeadm, ready, version, pod_network];
    let remote = remote.into_iter().filter(|_| !excused);
    let users = required.iter().map(|(_, check)| check);
    let fails = |check: &Check| matches!(check, Check::Fail(_) | Check::Broken(_));
    let mut all = [runtime, kubelet, sandbox]
        .into_iter()
        .chain(remote)
        .chain(users);
    all.any(fails) || serves_less(up, excused, s)
}

/// Whether the node serves less than before the drain. What is not known is not bad.
fn serves_less(up: &Upgrade, excused: bool, s: &Situation<'_>) -> bool {
    let (compared, now) = (compared(up, s), &s.seen.turn.serving);
    let units = compared.units.is_some() && now.units.is_some();
    let node = compared.node.is_some() && now.node.is_some() && !excused;
    units || node
}

/// The soak of a system that is healthy now; nothing where none is asked for.
pub(super) fn soak(up: &Upgrade, well_since: Option<&Moment>, s: &Situation<'_>) -> Option<Soak> {
    let seconds = seconds(up, s);
    if seconds == 0 {
        return None;
    }
    let first = well_since.filter(|first| first.boot == s.seen.turn.boot);
    let since = first.cloned().unwrap_or_else(|| s.moment());
    Some(Soak {
        until: since.at.plus_seconds(seconds),
        since,
        seconds,
        is_asked: asked(up, s) > 0,
    })
}

/// Until when a system that was well in this boot, and in which nothing has failed since, is
/// watched.
pub(super) fn until(
    up: &Upgrade,
    well_since: Option<&Moment>,
    s: &Situation<'_>,
) -> Option<SinceBoot> {
    let first = well_since.filter(|first| first.boot == s.seen.turn.boot)?;
    Some(first.at.plus_seconds(seconds(up, s)))
}

/// Passed checks must hold for a while also where nobody asks for a soak: a kubelet or a pod that
/// crashes again and again passes now and then.
fn seconds(up: &Upgrade, s: &Situation<'_>) -> u64 {
    s.policy.health.steady_seconds.max(asked(up, s))
}

/// A requester may ask for more than the operator, never for less.
fn asked(up: &Upgrade, s: &Situation<'_>) -> u64 {
    // It parsed when the request was taken.
    let asked = up.request.soak_seconds().ok().flatten();
    s.policy.health.soak_seconds.max(asked.unwrap_or(0))
}
