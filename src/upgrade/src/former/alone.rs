//! Whether a system may be blessed by its local checks alone, as the policy's `bless-without-api`
//! lets it be.

use crate::observe::{Api, Observation};
use crate::policy::Policy;
use crate::record::Upgrade;

/// Notes that the new system has reached the API server in this boot. Nothing but [`is_enough`]
/// asks, so nothing is written without that policy.
pub(super) fn note(up: &mut Upgrade, seen: &Observation, policy: &Policy) {
    let reached = matches!(seen.api, Api::Reached { .. });
    if policy.health.bless_without_api && reached {
        up.api_seen_from_new = Some(seen.boot.clone());
    }
}

/// Whether the local checks are enough where the API server is away. They are for a system that has
/// reached it in this boot, so it is the server that has gone; and where the old system has not
/// reached it in this upgrade either. Otherwise a new system that cannot is no reason to trust it.
pub(super) fn is_enough(up: &Upgrade, seen: &Observation, policy: &Policy) -> bool {
    let reached_here = up.api_seen_from_new.as_ref() == Some(&seen.boot);
    policy.health.bless_without_api && (reached_here || !up.old_has_reached_api())
}
