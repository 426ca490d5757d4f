//! Layers of container images that no image here uses any more.

use ostree_ext::container::store::gc_image_layers;
use upgrade::Reason;
use upgrade::id::Digest;

use super::{half_written, refs, sweep};
use crate::container::held;
use crate::container::layers::Here;
use crate::lock;
use crate::site::Site;

/// Removes images by their commits, and then the layers that no image here uses. The caller holds
/// the sysroot's lock. The next prune removes the content.
///
/// # Errors
/// libostree cannot write.
pub fn release(site: &Site, gone: impl Fn(&Digest) -> bool) -> Result<(), Reason> {
    let repo = site.sysroot.repo();
    half_written::remove(&site.path).map_err(|error| site.broken(error))?;
    held::forget(site, gone)?;
    if let Err(error) = gc_image_layers(&repo) {
        // An image of another tool cannot be read. Its layers only use room.
        eprintln!(
            "careen-deploy {}: cannot remove layers that nothing needs: {error:#}",
            site.verb
        );
    }
    Ok(())
}

/// As [`release`], for all images that are not deployed. A request that failed leaves such an
/// image: its commit is unknown until it is complete, so no `undo` names it.
///
/// # Errors
/// libostree cannot write.
pub fn release_gone(site: &Site) -> Result<(), Reason> {
    release(site, |commit| refs::is_gone(site, commit))
}

/// Makes room where it is `short`: removes all images that are not deployed, except these layers of
/// the requested image.
///
/// # Errors
/// [`Reason::NoRoom`] if that is not enough.
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
    release_gone(site)?;
    let repo = site.sysroot.repo();
    for layer in here {
        repo.set_ref_immediate(None, &layer.reference, Some(&layer.commit), site.never())
            .map_err(|error| site.failed(&error))?;
    }
    sweep::clear_and_prune(site)?;
    short().map_or(Ok(()), Err)
}
