//! Careen's refs. Deployments hold their commits without them.

use upgrade::Reason;
use upgrade::id::Digest;

use crate::site::Site;

/// Removes a ref. With a commit given, only if the ref holds that commit.
///
/// # Errors
/// libostree cannot write.
pub fn remove(site: &Site, name: &str, only: Option<&Digest>) -> Result<(), Reason> {
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

/// Whether no deployment has this commit.
pub fn is_gone(site: &Site, commit: &Digest) -> bool {
    let mut deployments = site.deployments().into_iter();
    deployments.all(|deployment| deployment.csum() != commit.as_str())
}
