//! Takes back what `fetch` and `deploy` made for a commit, and clears what broken runs left.

use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::{Reason, names};

use crate::args::Deploy;
use crate::container::held;
use crate::deploy::{again, write};
use crate::leftovers;
use crate::lock;
use crate::site::Site;

/// Undoes. The running deployment, the default and a pinned one stay, whatever their commit.
///
/// # Errors
/// When libostree cannot write.
pub fn run(site: &Site, commit: &Digest) -> Result<Done, Reason> {
    let _held = lock::acquire(site)?;
    let wanted = Deploy {
        commit: commit.clone(),
        again: false,
    };
    site.report.progress(10, "removing the deployment");
    write::drop_deployments(site, &again::replaceable(site, &wanted))?;
    site.report.progress(40, "removing what held the image");
    release(site, names::TARGET_REF, Some(commit))?;
    if site.deployments_of(commit).is_empty() {
        site.forget(commit)?;
        held::release(site, |held| held == commit)?;
    }
    site.report.progress(50, "pruning the repository");
    leftovers::clear_and_prune(site)?;
    forget_half(site, commit)?;
    write::settle(site)?;
    Ok(Done::Undone)
}

/// libostree notes that a commit is half here, and forgets that only together with the commit: a pull that was cut off may
/// have left the note alone.
pub fn forget_half(site: &Site, commit: &Digest) -> Result<(), Reason> {
    if site.sysroot.repo().load_commit(commit.as_str()).is_ok() {
        return Ok(());
    }
    let note = format!("ostree/repo/state/{commit}.commitpartial");
    host::durable::remove(&site.path.join(note)).map_err(|error| site.broken(error))
}

/// Removes a ref of ours; with a commit given, only if it holds that one. Deployments hold their commits by themselves.
pub fn release(site: &Site, name: &str, only: Option<&Digest>) -> Result<(), Reason> {
    let repo = site.sysroot.repo();
    let held = repo
        .resolve_rev(name, true)
        .map_err(|error| site.failed(&error))?;
    match (held, only) {
        (None, _) => Ok(()),
        (Some(held), Some(only)) if held != only.as_str() => Ok(()),
        (Some(_), _) => repo
            .set_ref_immediate(None, name, None, site.never())
            .map_err(|error| site.failed(&error)),
    }
}
