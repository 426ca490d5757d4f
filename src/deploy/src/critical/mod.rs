//! The files that the stage and the kubelet's start look at again before a trial goes on, and the list of them.
//!
//! Sealed with fs-verity before they are checked, they stay what was checked: the kernel looks at every block that is ever read of them,
//! and its digest is all that the list needs. Where the file system cannot, they are read once more before the deployment and once for
//! the list.

mod list;

use std::fs;
use std::path::{Path, PathBuf};

use host::manifest::{FileDigest, Manifest};
use host::{Places, verity};
use ostree_ext::ostree::ObjectType;
use upgrade::Reason;
use upgrade::id::Digest;
use upgrade::image::Deployment;

use crate::site::Site;
use crate::verify::fsck;
use crate::verify::image::Tree;

/// One of them.
pub struct File {
    /// Its path in the image, as "usr/bin/kubelet".
    path: String,
    /// Its object in the repository; the deployment links to that.
    object: String,
    /// Needed to boot and to fall back.
    boot: bool,
}

/// Those of an image.
///
/// # Errors
/// [`Reason::Damaged`] when its root folder cannot be read.
pub fn of(tree: &Tree) -> Result<Vec<File>, Reason> {
    Ok(list::of(&tree.folder()?))
}

/// Seals them. Best effort: ext4 needs `-O verity` for it.
pub fn seal(site: &Site, files: &[File]) {
    for file in files {
        let _ = fs::File::open(object(site, file)).map(|file| verity::seal(&file));
    }
}

/// Checks those once more that could not be sealed: the list is made of what is checked out, and damage since `verify` would pass
/// for the truth.
///
/// # Errors
/// [`Reason::Damaged`], naming the first bad object.
pub fn check_unsealed(site: &Site, commit: &Digest, files: &[File]) -> Result<(), Reason> {
    let repo = site.sysroot.repo();
    let mut unsealed = files.iter().filter(|file| !is_sealed(&object(site, file)));
    unsealed
        .try_for_each(|file| fsck::object(site, &repo, commit, (ObjectType::File, &file.object)))
}

/// Writes the list for a deployment.
///
/// # Errors
/// When a file cannot be read or the list is not on the disk.
pub fn write(site: &Site, files: &[File], made: &Deployment, folder: &Path) -> Result<(), Reason> {
    let digests = files
        .iter()
        .map(|file| FileDigest::of(folder, &file.path, file.boot));
    let manifest = digests.collect::<host::Result<_>>().map(|files| Manifest {
        format: 1,
        commit: made.digest.clone(),
        bootcsum: made.bootcsum.clone(),
        files,
    });
    manifest
        .and_then(|manifest| manifest.write(&Places::physical(&site.path)))
        .map_err(|error| site.broken(error))
}

fn is_sealed(path: &Path) -> bool {
    fs::File::open(path).is_ok_and(|file| verity::measure(&file).is_some())
}

/// Where an object's content lies: a node's own repository keeps files as they are.
fn object(site: &Site, file: &File) -> PathBuf {
    let (folder, name) = file.object.split_at(2);
    site.path
        .join(format!("ostree/repo/objects/{folder}/{name}.file"))
}
