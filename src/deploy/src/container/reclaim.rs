//! Gives back what requests that came to nothing have left: until an image is whole nobody knows its commit, so no `undo` names it.

use ostree_ext::ostree::Repo;
use upgrade::Reason;

use super::held;
use super::layers::Here;
use crate::clean;
use crate::fetch::room;
use crate::leftovers;
use crate::lock;
use crate::site::Site;

/// Forgets the images that are deployed nowhere, and layers that no other has. The next clean-up takes them off the disk.
///
/// # Errors
/// When libostree cannot write.
pub fn forget(site: &Site) -> Result<(), Reason> {
    held::release(site, |commit| clean::is_gone(site, commit))
}

/// Makes room for so many bytes, where there is too little: all goes that is deployed nowhere, but for these layers of the image that is wanted.
///
/// # Errors
/// [`Reason::NoRoom`] when that is not enough.
pub fn make_room(site: &Site, repo: &Repo, bytes: u64, here: &[Here]) -> Result<(), Reason> {
    if room::too_little_for(site, repo, bytes).is_none() {
        return Ok(());
    }
    let _held = lock::acquire(site)?;
    site.report
        .progress(0, "making room: removing layers that nothing needs");
    forget(site)?;
    for layer in here {
        repo.set_ref_immediate(None, &layer.reference, Some(&layer.commit), site.never())
            .map_err(|error| site.failed(&error))?;
    }
    leftovers::clear_and_prune(site)?;
    room::too_little_for(site, repo, bytes).map_or(Ok(()), Err)
}
