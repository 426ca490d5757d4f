//! Which images are here, by Careen's refs: a deployed image keeps its layers, so that the next
//! image fetches only others. The tools for containers (rpm-ostree, bootc) leave such refs and
//! their content alone.

use ostree_ext::ostree::{Repo, RepoListRefsExtFlags};
use upgrade::id::Digest;
use upgrade::{ContainerImage, Reason, names};

use crate::site::Site;

/// The commit of an image that is here.
///
/// # Errors
/// libostree cannot list its refs.
pub fn commit_of(site: &Site, image: &ContainerImage) -> Result<Option<Digest>, Reason> {
    let digits = image.manifest.digits();
    let all = all(site, &site.sysroot.repo())?;
    let found = all.into_iter().find(|held| held.manifest == digits);
    Ok(found.map(|held| held.commit))
}

/// Records the commit of an image. `state` is the commit of ostree-ext that lists its layers.
///
/// # Errors
/// libostree cannot write.
pub fn remember(
    site: &Site,
    image: &ContainerImage,
    commit: &Digest,
    state: &str,
) -> Result<(), Reason> {
    let reference = format!("{}/{}/{commit}", names::IMAGE_REFS, image.manifest.digits());
    let repo = site.sysroot.repo();
    repo.set_ref_immediate(None, &reference, Some(state), site.never())
        .map_err(|error| site.failed(&error))
}

/// Removes the records of images by their commits.
///
/// # Errors
/// libostree cannot write.
pub fn forget(site: &Site, gone: impl Fn(&Digest) -> bool) -> Result<(), Reason> {
    let repo = site.sysroot.repo();
    for held in all(site, &repo)? {
        if gone(&held.commit) {
            repo.set_ref_immediate(None, &held.reference, None, site.never())
                .map_err(|error| site.failed(&error))?;
        }
    }
    Ok(())
}

struct Held {
    reference: String,
    manifest: String,
    commit: Digest,
}

fn all(site: &Site, repo: &Repo) -> Result<Vec<Held>, Reason> {
    let flags = RepoListRefsExtFlags::empty();
    let refs = repo
        .list_refs_ext(Some(names::IMAGE_REFS), flags, site.never())
        .map_err(|error| site.failed(&error))?;
    Ok(refs.keys().filter_map(|name| held(name)).collect())
}

/// A ref of another form is not Careen's.
fn held(reference: &str) -> Option<Held> {
    let below = reference.strip_prefix(names::IMAGE_REFS)?;
    let (manifest, commit) = below.strip_prefix('/')?.split_once('/')?;
    Some(Held {
        reference: reference.to_owned(),
        manifest: manifest.to_owned(),
        commit: commit.parse().ok()?,
    })
}
