//! The files that the stage and the kubelet's start verify again before a trial continues, and the
//! list of them.
//!
//! The signed commit says what each must be, so no file is read for the list. careen-deploy also
//! seals them with fs-verity, each right after its verification, while all of it is still in
//! memory. The kernel then verifies every block that is read from them, and a trial boot only needs
//! to ask for their digests. To read them again there, while the node waits for its kubelet, took a
//! sixth of a boot on a small machine.

mod file;
mod list;

use std::fs;
use std::path::{Path, PathBuf};

use host::critical::{CriticalFile, CriticalFiles};
use host::{Places, verity};
use ostree_ext::gio::prelude::*;
use ostree_ext::ostree::{ObjectType, Repo};
use ostree_ext::{gio, glib};
use upgrade::Reason;
use upgrade::image::Deployment;

pub use file::File;

use crate::site::Site;
use crate::verify::fsck;
use crate::verify::image::Tree;

const NEVER: Option<&gio::Cancellable> = None;

/// The critical files of an image.
///
/// # Errors
/// [`Reason::Damaged`] if its root folder cannot be read.
pub fn of(tree: &Tree) -> Result<Vec<File>, Reason> {
    Ok(list::of(&tree.folder()?))
}

/// Seals an object if it is one of them. Best effort: ext4 needs `-O verity` for it.
pub fn seal(site: &Site, files: &[File], object: &str) {
    if files.iter().any(|file| file.object.as_str() == object) {
        let _ = fs::File::open(path_of(site, object)).map(|file| verity::seal(&file));
    }
}

/// Writes the list for a deployment.
///
/// # Errors
/// [`Reason::Damaged`] if an object no longer exists; other reasons if the list is not on the disk.
pub fn write(site: &Site, files: &[File], made: &Deployment, folder: &Path) -> Result<(), Reason> {
    let repo = site.sysroot.repo();
    let listed = files.iter().map(|file| {
        let listed = listed(&repo, file)?;
        Ok(listed.as_sealed_in(folder))
    });
    let files = listed
        .collect::<Result<_, glib::Error>>()
        .map_err(|error| fsck::damaged(&made.digest, error.message()))?;
    let list = CriticalFiles {
        format: 1,
        commit: made.digest.clone(),
        bootcsum: made.bootcsum.clone(),
        files,
    };
    list.write(&Places::physical(&site.path))
        .map_err(|error| site.broken(error))
}

/// What the commit says of a file. Its stream is the header and the content, and only the header is
/// read.
fn listed(repo: &Repo, file: &File) -> Result<CriticalFile, glib::Error> {
    let (stream, length) =
        repo.load_object_stream(ObjectType::File, file.object.as_str(), NEVER)?;
    let (facts, _) = repo.query_file(file.object.as_str(), NEVER)?;
    let size = u64::try_from(facts.size()).unwrap_or(0);
    let mut header = vec![0; usize::try_from(length.saturating_sub(size)).unwrap_or(0)];
    // A single read may return less than requested.
    let (_, cut_short) = stream.read_all(&mut header, NEVER)?;
    if let Some(error) = cut_short {
        return Err(error);
    }
    Ok(CriticalFile {
        path: file.path.clone(),
        size,
        object: file.object.clone(),
        header,
        boot: file.boot,
        verity: None,
    })
}

/// The path of an object's content. A node's own repository stores files as they are.
fn path_of(site: &Site, object: &str) -> PathBuf {
    let (folder, name) = object.split_at(2);
    site.path
        .join(format!("ostree/repo/objects/{folder}/{name}.file"))
}
