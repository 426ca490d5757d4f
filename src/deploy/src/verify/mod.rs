//! Examines a fetched commit before it is deployed: every object's checksum, what the image says of
//! itself, its kernel, what a trial of it would lack, and the room for a deployment. It rejects
//! only damage; the crate `upgrade` judges the rest.

pub mod content;
pub mod folder;
pub mod fsck;
pub mod image;
pub mod lacks;
pub mod room;

use ostree_ext::glib::Variant;
use ostree_ext::ostree;
use upgrade::Reason;
use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::image::ImageFacts;

use crate::critical;
use crate::fetch::binding;
use crate::site::Site;

/// Verifies.
///
/// Reads and hashes all objects, including those that just came and were checked on arrival. The
/// running system shares most of a commit's objects. They are on this disk for months, where bits
/// rot.
///
/// # Errors
/// [`Reason::Damaged`] if an object is missing or does not match its name.
pub fn run(site: &Site, commit: &Digest) -> Result<Done, Reason> {
    let repo = site.sysroot.repo();
    let (variant, _) = repo
        .load_commit(commit.as_str())
        .map_err(|error| fsck::damaged(commit, error.message()))?;
    let objects = fsck::Objects::of(site, commit)?;
    // Check the lists first: libostree aborts the process over an invalid tree.
    objects.check_lists()?;
    let tree = image::Tree::open(site, commit)?;
    let critical = critical::of(&tree)?;
    objects.check_files(|object| critical::seal(site, &critical, object))?;
    site.report.progress(97, "reading the image's description");
    let kernel = tree.kernel();
    Ok(Done::Verified(ImageFacts {
        commit: commit.clone(),
        info: tree.info()?,
        kernel: kernel.as_ref().map(|kernel| kernel.version.clone()),
        timestamp: ostree::commit_get_timestamp(&variant),
        running: time_of_the_running(site),
        lacks: lacks::of(site, &tree)?,
        branches: binding::told(&variant),
        running_branches: branches_of_the_running(site),
        root: room::root(site, &tree, kernel.as_ref())?,
        boot: room::boot(site, &tree, kernel.as_ref())?,
    }))
}

/// When the commit of the running system was made, or `None` if that is unknown.
pub fn time_of_the_running(site: &Site) -> Option<u64> {
    running(site).map(|variant| ostree::commit_get_timestamp(&variant))
}

/// The branches that the commit of the running system names.
pub fn branches_of_the_running(site: &Site) -> Box<[String]> {
    running(site).map_or_else(Box::default, |variant| binding::told(&variant))
}

fn running(site: &Site) -> Option<Variant> {
    let commit = site.current()?.csum();
    let (variant, _) = site.sysroot.repo().load_commit(&commit).ok()?;
    Some(variant)
}
