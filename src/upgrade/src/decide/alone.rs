//! Whether local checks alone may bless a system, as the policy's `bless-without-api` allows.

use super::situation::Situation;
use crate::record::Upgrade;

/// Whether the local checks are enough where the API server is away. On a control plane the server
/// is a part of what is judged. A host without a cluster that cannot reach its management cluster is
/// lost to its owner. They are for a system that has
/// reached it in this boot, so it is the server that has gone; and where the old system has not
/// reached it in this upgrade either. Otherwise a new system that cannot is no reason to trust it.
pub(super) fn is_enough(up: &Upgrade, s: &Situation<'_>) -> bool {
    let reached_here = up.api.from_new.as_ref() == Some(&s.seen.turn.boot);
    let is_worker = up.control.is_none();
    is_worker
        && s.joined
        && s.policy.health.bless_without_api
        && (reached_here || !up.old_has_reached_api())
}
