//! A plan for a container image. It is unknown which layer holds what, so the plan fetches all that
//! is missing, and removes it again.

use ostree_ext::ostree::Repo;
use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::{Reason, names};

use super::clear;
use super::look::{look, planned};
use crate::args::FetchImage;
use crate::container::{self, held};
use crate::fetch;
use crate::gc::{layers, unfinished};
use crate::lock;
use crate::site::Site;

/// Plans.
///
/// # Errors
/// Why the image is not available: as in `fetch-image`.
pub fn run(site: &Site, wanted: &FetchImage) -> Result<Done, Reason> {
    let repo = site.sysroot.repo();
    // What a killed plan has left. No upgrade is under way, because otherwise there would be no
    // plan.
    unfinished::clear_or_tell(site);
    let held = held::commit_of(site, &wanted.image)?;
    let lay_here = held.is_some_and(|held| fetch::complete(&repo, &held));
    let got = container::get(site, wanted);
    let (commit, bytes) = got.inspect_err(|_| unfinished::clear_or_tell(site))?;
    let found = compare(site, &repo, &commit, bytes);
    if !lay_here && let Err(reason) = give_back(site, &commit) {
        // The next clean-up removes it.
        eprintln!("careen-deploy plan-image: cannot remove what was fetched: {reason}");
    }
    found
}

fn compare(site: &Site, repo: &Repo, commit: &Digest, bytes: u64) -> Result<Done, Reason> {
    repo.set_ref_immediate(None, names::PLAN_REF, Some(commit.as_str()), site.never())
        .map_err(|error| site.failed(&error))?;
    let mut found = look(site, repo, None, commit)?;
    found.fetch_bytes = Some(bytes);
    Ok(planned(found))
}

/// Remove the image's ref first, because the prune must remove what it holds.
fn give_back(site: &Site, commit: &Digest) -> Result<(), Reason> {
    if site.deployments_of(commit).is_empty() {
        let _held = lock::acquire(site)?;
        layers::release(site, |held| held == commit)?;
    }
    clear::give_back(site, commit)?;
    unfinished::settle_pruned(site)
}
