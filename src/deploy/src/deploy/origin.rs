//! The origin file of a deployment that we wrote: the commit as its source, and a group of our own.

use ostree_ext::glib::KeyFile;
use ostree_ext::ostree;
use upgrade::id::Digest;

use crate::site::Site;

/// Our group; libostree keeps groups that it does not know.
const GROUP: &str = "careen";
/// The fingerprint of the /etc that was merged.
const ETC: &str = "etc";

/// An origin for a deployment of a commit. The refspec is the commit itself: the node follows no branch, and
/// `ostree admin upgrade` must not drag it along one.
pub fn new(site: &Site, commit: &Digest, fingerprint: &str) -> KeyFile {
    let origin = site.sysroot.origin_new_from_refspec(commit.as_str());
    origin.set_string(GROUP, ETC, fingerprint);
    origin
}

/// The fingerprint of the /etc that the deployment was made with, when it is one of ours.
pub fn fingerprint(deployment: &ostree::Deployment) -> Option<String> {
    deployment
        .origin()?
        .string(GROUP, ETC)
        .ok()
        .map(|text| text.to_string())
}

/// Whether `deploy` made it, so that `undo` may take it away.
pub fn is_ours(deployment: &ostree::Deployment) -> bool {
    fingerprint(deployment).is_some()
}
