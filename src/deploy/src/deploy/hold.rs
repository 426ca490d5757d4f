//! What a trial falls back to, held against everybody's clean-up: the running default is pinned from before the new deployment is in the menu
//! until the upgrade has ended. libostree's own tools, and those on top of it, drop no deployment that is pinned.

use ostree_ext::ostree;
use upgrade::Reason;

use super::origin;
use crate::site::{Site, same};

/// Pins the default, unless somebody has. One that does not run is somebody else's, and nothing is tried beside it.
///
/// # Errors
/// When its origin cannot be written.
pub fn hold(site: &Site) -> Result<(), Reason> {
    site.report.progress(18, "pinning the running system");
    let held = running_default(site).map_or(Ok(()), |default| origin::pin(site, &default));
    held.map_err(|error| site.failed(&error))
}

/// Takes that pin off, once nothing is left to be tried. During a trial the default does not run, and stays held.
///
/// # Errors
/// As above.
pub fn let_go(site: &Site) -> Result<(), Reason> {
    let free = running_default(site).map_or(Ok(()), |default| origin::unpin(site, &default));
    free.map_err(|error| site.failed(&error))
}

fn running_default(site: &Site) -> Option<ostree::Deployment> {
    let default = site.deployments().into_iter().next()?;
    site.current().filter(|current| same(current, &default))
}
