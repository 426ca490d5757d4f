//! Takes back what `fetch` and `deploy` made for a commit, or, where none is known, what a fetch has left; and clears what broken runs left.

use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::{Reason, names};

use crate::args::{Deploy, Origin};
use crate::clean;
use crate::container::{held, unpacked};
use crate::deploy::{again, hold, write};
use crate::half;
use crate::leftovers;
use crate::lock;
use crate::site::Site;
use crate::unfinished;

/// Undoes. The running deployment, the default and a pinned one stay, whatever their commit.
///
/// # Errors
/// When libostree cannot write.
pub fn run(site: &Site, commit: Option<&Digest>) -> Result<Done, Reason> {
    let _held = lock::acquire(site)?;
    match commit {
        Some(commit) => deployed(site, commit)?,
        None => fetched(site)?,
    }
    hold::let_go(site)?;
    site.report.progress(50, "pruning the repository");
    leftovers::clear_and_prune(site)?;
    half::forget(site, commit)?;
    unpacked::clear(site)?;
    // With a commit it leaves the refs of other images.
    if commit.is_none() {
        unfinished::settle_pruned(site)?;
    }
    write::settle(site)?;
    Ok(Done::Undone)
}

/// Removes the deployment of a commit and what holds it.
fn deployed(site: &Site, commit: &Digest) -> Result<(), Reason> {
    let wanted = Deploy {
        commit: commit.clone(),
        again: false,
        origin: Origin::default(),
    };
    site.report.progress(10, "removing the deployment");
    write::drop_deployments(site, &again::replaceable(site, &wanted))?;
    site.report.progress(40, "removing what held the image");
    release(site, names::TARGET_REF, Some(commit))?;
    if site.deployments_of(commit).is_empty() {
        site.forget(commit)?;
        held::release(site, |held| held == commit)?;
    }
    Ok(())
}

/// Lets go of whatever a fetch has brought whose commit nobody learned: it was refused, or ended too early to say.
fn fetched(site: &Site) -> Result<(), Reason> {
    site.report.progress(10, "removing what held an image");
    release(site, names::TARGET_REF, None)?;
    held::release(site, |commit| clean::is_gone(site, commit))
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
