//! A file of the list.

use upgrade::id::Digest;

/// One critical file.
pub struct File {
    /// Its path in the image, as "usr/bin/kubelet".
    pub(super) path: String,
    /// Its object in the repository, to which the deployment links.
    pub(super) object: Digest,
    /// Whether it is needed to boot and to fall back.
    pub(super) boot: bool,
}
