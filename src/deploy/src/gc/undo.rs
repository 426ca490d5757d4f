//! The verb `undo`. With a commit, it removes what `fetch` and `deploy` made for that commit;
//! without one, what a fetch has left. Then it removes what broken runs left.

use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::{Reason, names};

use super::{layers, partial_pulls, refs, sweep, unfinished};
use crate::args::{Deploy, Origin};
use crate::container::unpacked;
use crate::deploy::{again, hold, write};
use crate::lock;
use crate::site::Site;

/// Undoes. The running deployment, the default and a pinned one stay, whatever their commit.
///
/// # Errors
/// libostree cannot write.
pub fn run(site: &Site, commit: Option<&Digest>) -> Result<Done, Reason> {
    let _held = lock::acquire(site)?;
    match commit {
        Some(commit) => deployed(site, commit)?,
        None => fetched(site)?,
    }
    hold::let_go(site)?;
    site.report.progress(50, "pruning the repository");
    sweep::clear_and_prune(site)?;
    partial_pulls::remove(site, commit)?;
    unpacked::clear(site)?;
    // With a commit, the refs of other images stay.
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
    refs::remove(site, names::TARGET_REF, Some(commit))?;
    if site.deployments_of(commit).is_empty() {
        site.forget(commit)?;
        layers::release(site, |held| held == commit)?;
    }
    Ok(())
}

/// Releases what a fetch brought without naming its commit: it was refused, or ended too early.
fn fetched(site: &Site) -> Result<(), Reason> {
    site.report.progress(10, "removing what held an image");
    refs::remove(site, names::TARGET_REF, None)?;
    layers::release_gone(site)
}
