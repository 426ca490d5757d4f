//! What an upgrade to a commit would change, found without deploying it, and removed afterwards.
//!
//! The plan fetches only a small part of the image: the commit's own object, `image.json`, the list
//! of packages, /usr/etc, the kernel, and the units that a trial needs. If either system has no
//! readable list of packages, the plan fetches the whole image to compare files. A container image
//! comes in layers, so for such an image the plan fetches all that is missing. Only `verify` shows
//! whether the objects are intact.

mod clear;
mod conflicts;
mod container;
mod dpkg;
mod files;
mod installed;
mod look;
mod packages;
mod rpm;

use upgrade::Reason;
use upgrade::deploy::Done;
use upgrade::id::Digest;

use crate::args::Fetch;
use crate::fetch;
use crate::site::Site;

use clear::{give_back, sweep_or_tell};
use look::{look, planned};

pub use container::run as of_container;

/// Plans.
///
/// # Errors
/// Why the image is not available: as in `fetch`.
pub fn run(site: &Site, wanted: &Fetch) -> Result<Done, Reason> {
    let repo = site.sysroot.repo();
    let deployed = |commit: &&Digest| !site.deployments_of(commit).is_empty();
    if let Some(commit) = wanted.commit.as_ref().filter(deployed) {
        // An upgrade fetched the kept commit, and its deployment holds it.
        return look(site, &repo, None, commit).map(planned);
    }
    let pinned = fetch::pin(site, &repo, wanted, &mut 0);
    // libostree writes signatures before it verifies them.
    let commit = pinned.inspect_err(|_| sweep_or_tell(site))?;
    let lay_here = fetch::complete(&repo, &commit);
    let found = look(site, &repo, Some(wanted), &commit).map(planned);
    if !lay_here && let Err(reason) = give_back(site, &commit) {
        // The next clean-up removes it.
        eprintln!("careen-deploy plan: cannot remove what was fetched: {reason}");
    }
    found
}
