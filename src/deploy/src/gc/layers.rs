//! Gives back what requests that came to nothing have left: until an image is whole nobody knows its commit, so no `undo` names it.

use upgrade::Reason;

use super::held;
use super::layers::Here;
use crate::clean;
use crate::leftovers;
use crate::lock;
use crate::site::Site;

/// Forgets the images that are deployed nowhere, and layers that no other has. The next clean-up takes them off the disk.
fn forget(site: &Site) -> Result<(), Reason> {
    held::release(site, |commit| clean::is_gone(site, commit))
}

/// Makes room where something is `short` of it: all goes that is deployed nowhere, but for these layers of the image that is wanted.
///
/// # Errors
/// [`Reason::NoRoom`] when that is not enough.
pub fn make_room(
    site: &Site,
    here: &[Here],
    short: impl Fn() -> Option<Reason>,
) -> Result<(), Reason> {
    if short().is_none() {
        return Ok(());
    }
    let _held = lock::acquire(site)?;
    site.report
        .progress(0, "making room: removing layers that nothing needs");
    forget(site)?;
    let repo = site.sysroot.repo();
    for layer in here {
        repo.set_ref_immediate(None, &layer.reference, Some(&layer.commit), site.never())
            .map_err(|error| site.failed(&error))?;
    }
    leftovers::clear_and_prune(site)?;
    short().map_or(Ok(()), Err)
}
