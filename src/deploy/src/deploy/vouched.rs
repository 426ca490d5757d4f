//! Whether the commit is still signed as required. Hours or days pass between the fetch and the
//! deployment. A key may have been removed, a remote may be configured differently, or the policy
//! may be stricter.

use upgrade::Reason;

use crate::args::{Deploy, FetchImage, Origin};
use crate::container;
use crate::fetch::{asked, signature};
use crate::site::Site;

/// Checks the signature if the request says where the commit came from. A commit that was already
/// here has no source.
///
/// # Errors
/// As the fetch from there.
pub fn check(site: &Site, wanted: &Deploy) -> Result<(), Reason> {
    let (commit, origin) = (&wanted.commit, &wanted.origin);
    if let Some(remote) = &origin.remote {
        let repo = site.sysroot.repo();
        asked::remote(&repo, remote, origin.unsigned, commit.as_str())?;
        return signature::check(&repo, remote, commit);
    }
    match in_container(wanted, origin) {
        Some(image) => container::is_vouched_for(site, &image),
        None => Ok(()),
    }
}

fn in_container(wanted: &Deploy, origin: &Origin) -> Option<FetchImage> {
    Some(FetchImage {
        image: origin.image.clone()?,
        commit: Some(wanted.commit.clone()),
        signed_by: origin.signed_by.clone(),
        bandwidth: None,
        unsigned: origin.unsigned,
        settings: origin.settings.clone(),
    })
}
