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
    facts(site, commit, &variant, &tree, &tree).map(Done::Verified)
}

/// The facts about an image, for an upgrade and for a plan. An image of which only parts are here
/// counts as having as many folders as `counted`.
///
/// # Errors
/// A part of it that is read here is damaged.
pub fn facts(
    site: &Site,
    commit: &Digest,
    variant: &Variant,
    tree: &image::Tree,
    counted: &image::Tree,
) -> Result<ImageFacts, Reason> {
    let (kernel, running) = (tree.kernel(), running(site));
    let branches = |running: &Variant| binding::told(running);
    Ok(ImageFacts {
        commit: commit.clone(),
        info: tree.info()?,
        kernel: kernel.as_ref().map(|kernel| kernel.version.clone()),
        timestamp: ostree::commit_get_timestamp(variant),
        running: running.as_ref().map(ostree::commit_get_timestamp),
        lacks: lacks::of(site, tree)?,
        branches: binding::told(variant),
        running_branches: running.as_ref().map(branches).unwrap_or_default(),
        root: room::root(site, tree, kernel.as_ref(), counted)?,
        boot: room::boot(site, tree, kernel.as_ref())?,
    })
}

/// The commit of the running system, or `None` if it is not here.
fn running(site: &Site) -> Option<Variant> {
    let commit = site.current()?.csum();
    let (variant, _) = site.sysroot.repo().load_commit(&commit).ok()?;
    Some(variant)
}
