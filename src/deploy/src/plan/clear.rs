//! Removes what a plan has fetched.

use upgrade::Reason;
use upgrade::id::Digest;

use crate::gc::{partial_pulls, sweep};
use crate::lock;
use crate::site::Site;

/// Removes from the repository what nothing else holds.
pub(super) fn give_back(site: &Site, commit: &Digest) -> Result<(), Reason> {
    site.report.progress(95, "removing what was fetched");
    let _held = lock::acquire(site)?;
    sweep::clear_and_prune(site)?;
    partial_pulls::remove(site, Some(commit))
}

/// The caller reports another reason, and the next clean-up removes what is left.
pub(super) fn sweep_or_tell(site: &Site) {
    if let Err(reason) = partial_pulls::remove_among_objects(site) {
        eprintln!("careen-deploy plan: cannot remove what was fetched: {reason}");
    }
}
