//! Looks at a fetched commit before anything is made of it: every object's checksum, what the image says of
//! itself, its kernel, what a trial of it would lack, and the room that deploying it takes. It judges nothing but damage; the brain does.

pub mod content;
pub mod folder;
pub mod fsck;
pub mod image;
pub mod lacks;
pub mod room;

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
/// All objects are read and hashed, also those that came a moment ago and were checked on arrival: most of a
/// commit's objects are shared with the running system and lie here for months, where bits rot.
///
/// # Errors
/// [`Reason::Damaged`] when an object is missing or not what its name says.
pub fn run(site: &Site, commit: &Digest) -> Result<Done, Reason> {
    let repo = site.sysroot.repo();
    let (variant, _) = repo
        .load_commit(commit.as_str())
        .map_err(|error| fsck::damaged(commit, error.message()))?;
    let objects = fsck::Objects::of(site, commit)?;
    // First what lists the others: libostree ends the process over a tree that is none.
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
        root: room::root(site, &tree, kernel.as_ref())?,
        boot: room::boot(site, &tree, kernel.as_ref())?,
    }))
}

/// When the commit of the system that runs was made; nothing where that cannot be told.
pub fn time_of_the_running(site: &Site) -> Option<u64> {
    let commit = site.current()?.csum();
    let (variant, _) = site.sysroot.repo().load_commit(&commit).ok()?;
    Some(ostree::commit_get_timestamp(&variant))
}
