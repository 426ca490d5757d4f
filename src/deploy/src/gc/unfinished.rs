//! Content on the disk that perhaps no ref holds: layers of an image come before it is known to be
//! complete.
//!
//! A note exists from before the first layer until a ref holds the commit, or until all of it is
//! removed. So the next run removes what a killed run has left.

use std::path::PathBuf;

use upgrade::{Reason, names};

use super::{layers, orphans, partial_pulls, sweep};
use crate::container::unpacked;
use crate::lock;
use crate::site::Site;

/// Only root may read it.
const MODE: u32 = 0o600;

/// Writes the note. Call it before the first object comes.
///
/// # Errors
/// The note may not be on the disk.
pub fn note(site: &Site) -> Result<(), Reason> {
    let path = path(site);
    let folder = path.parent().unwrap_or(&site.path);
    host::durable::make_private_folder(folder)
        .and_then(|()| host::durable::write(&path, b"", MODE))
        .map_err(|error| site.broken(error))
}

/// Whether the note is there: an earlier run did not come to its end.
pub fn is_noted(site: &Site) -> bool {
    path(site).exists()
}

/// Removes the note: a ref holds what came, or it is removed.
///
/// # Errors
/// The note may still be there.
pub fn settle(site: &Site) -> Result<(), Reason> {
    host::durable::remove(&path(site)).map_err(|error| site.broken(error))
}

/// As [`settle`], after a prune. libostree prunes nothing while an orphan is left, and then the
/// note stays.
///
/// # Errors
/// The note may still be there.
pub fn settle_pruned(site: &Site) -> Result<(), Reason> {
    match orphans::all(site).is_empty() {
        true => settle(site),
        false => Ok(()),
    }
}

/// If the note exists, removes what no deployment needs. The caller reports its own reason, so
/// another error goes only to the journal, and the note stays.
pub fn clear_or_tell(site: &Site) {
    if let Err(reason) = clear(site) {
        eprintln!(
            "careen-deploy {}: cannot remove what was fetched: {reason}",
            site.verb
        );
    }
}

fn clear(site: &Site) -> Result<(), Reason> {
    if !is_noted(site) {
        return Ok(());
    }
    site.report.progress(95, "removing what was fetched");
    let _held = lock::acquire(site)?;
    layers::release_gone(site)?;
    sweep::clear_and_prune(site)?;
    partial_pulls::remove(site, None)?;
    unpacked::clear(site)?;
    settle_pruned(site)
}

fn path(site: &Site) -> PathBuf {
    site.path.join(names::UNFINISHED)
}
