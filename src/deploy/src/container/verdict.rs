//! By which container policy skopeo accepted an image. The commit does not contain what skopeo
//! verifies, so before the deployment only this note shows whether the verdict is still the same.

use std::fs;
use std::path::Path;

use host::{Places, container_policy};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Builder;
use upgrade::Reason;
use upgrade::id::Digest;

use super::look;
use super::skopeo::{Skopeo, check_version};
use crate::args::FetchImage;
use crate::site::Site;

/// Notes that skopeo accepted the image with this commit, by a policy with this sum.
///
/// # Errors
/// The note may not be on the disk.
pub fn note(site: &Site, commit: &Digest, sum: &str) -> Result<(), Reason> {
    host::verdict::note(&Places::physical(&site.path), commit, sum)
        .map_err(|error| site.broken(error))
}

/// Asks skopeo again if the note is absent, or if the policy or a file that it names has changed
/// since. Fetches no layer.
///
/// # Errors
/// [`Reason::WrongSignature`], or that no server answers.
pub fn renew(site: &Site, wanted: &FetchImage, commit: &Digest) -> Result<(), Reason> {
    let skopeo = Skopeo::new(site, wanted);
    let sum = sum(wanted, &skopeo);
    if host::verdict::is(&Places::physical(&site.path), commit, &sum) {
        return Ok(());
    }
    check_version(&wanted.settings).map_err(|error| site.broken(error))?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| site.broken(error))?;
    runtime.block_on(look::is_accepted(site, wanted, &skopeo))?;
    note(site, commit, &sum)
}

/// Whether nothing but skopeo's policy vouches for an image that was accepted.
pub fn is_by_skopeo(wanted: &FetchImage) -> bool {
    wanted.signed_by.is_none() && !wanted.unsigned
}

/// A digest over the image's, the policy and each file that the policy names.
pub fn sum(wanted: &FetchImage, skopeo: &Skopeo) -> String {
    let mut sum = Sha256::new();
    add(&mut sum, wanted.image.manifest.as_str().as_bytes());
    let policy = skopeo.policy.as_deref().map(fs::read);
    let policy = policy.and_then(Result::ok).unwrap_or_default();
    add(&mut sum, &policy);
    for file in container_policy::files(&policy) {
        // skopeo accepts nothing by a file that it cannot read.
        let content = fs::read(Path::new(&file)).unwrap_or_default();
        add(&mut sum, file.as_bytes());
        add(&mut sum, &content);
    }
    hex::encode(sum.finalize())
}

/// With its length, so that no two lists give the same bytes.
fn add(sum: &mut Sha256, bytes: &[u8]) {
    sum.update(bytes.len().to_le_bytes());
    sum.update(bytes);
}
