//! Protects the system that a trial falls back to from any clean-up. The running default is pinned
//! from before the new deployment enters the menu until the upgrade has ended. libostree's own
//! tools, and those built on it, drop no pinned deployment.

use ostree_ext::ostree;
use upgrade::Reason;

use super::marks;
use crate::site::{Site, same};

/// Pins the default, unless it is already pinned. A default that is not running belongs to somebody
/// else, and no trial happens next to it.
///
/// # Errors
/// Its origin cannot be written.
pub fn hold(site: &Site) -> Result<(), Reason> {
    site.report.progress(18, "pinning the running system");
    let held = running_default(site).map_or(Ok(()), |default| marks::pin(site, &default));
    held.map_err(|error| site.failed(&error))
}

/// Removes that pin once no trial is left. During a trial the default does not run, and stays
/// pinned.
///
/// # Errors
/// As above.
pub fn let_go(site: &Site) -> Result<(), Reason> {
    let free = running_default(site).map_or(Ok(()), |default| marks::unpin(site, &default));
    free.map_err(|error| site.failed(&error))
}

fn running_default(site: &Site) -> Option<ostree::Deployment> {
    let default = site.deployments().into_iter().next()?;
    site.current().filter(|current| same(current, &default))
}
