//! Detects changes of /etc since it was copied for the new system. libostree merges /etc at
//! deployment, so later changes would be missing in the trial.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use upgrade::{Deployment, Digest};

use crate::error::{At, Result};
use crate::{Places, durable};

/// Notes the state of /etc when the commit's deployment copied it: a [`fingerprint`] from before
/// the merge. Write the note once that deployment exists. An earlier note would vouch for an older
/// deployment if the work were interrupted in between.
///
/// # Errors
/// The note is not on the disk.
pub fn note(places: &Places, commit: &Digest, fingerprint: &str) -> Result<()> {
    durable::make_private_folder(&places.state())?;
    durable::write(&path(places, commit), fingerprint.as_bytes(), 0o600)
}

/// Whether the booted system's /etc differs from the note for this commit. Without a note it counts
/// as changed. /etc is read in the deployment's folder, as libostree reads it: a mount below /etc
/// is not merged, so it must not count.
///
/// # Errors
/// /etc cannot be read.
pub fn has_changed(places: &Places, booted: &Deployment, commit: &Digest) -> Result<bool> {
    let then = fs::read_to_string(path(places, commit)).unwrap_or_default();
    Ok(then != fingerprint(&places.deployment(booted).join("etc"))?)
}

/// The entry of the booted system's /etc whose inode changed last, as a person knows it. A file
/// that is gone shows in its folder.
#[must_use]
pub fn newest(places: &Places, booted: &Deployment) -> Option<String> {
    let top = places.deployment(booted).join("etc");
    let (_, path) = newest_below(&top)?;
    let below = path.strip_prefix(&top).ok()?;
    Some(Path::new("/etc").join(below).display().to_string())
}

/// Change time in seconds and nanoseconds. A file that is renamed into place has its folder's.
type Changed = (i64, i64, bool);

fn newest_below(folder: &Path) -> Option<(Changed, PathBuf)> {
    let changed = |path: &Path| {
        let meta = fs::symlink_metadata(path).ok()?;
        Some((meta.ctime(), meta.ctime_nsec(), !meta.is_dir()))
    };
    let children = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = children.filter_map(|child| {
        let is_folder = child.file_type().is_ok_and(|kind| kind.is_dir());
        let path = child.path();
        if is_folder {
            newest_below(&path)
        } else {
            Some((changed(&path)?, path))
        }
    });
    below
        .chain(Some((changed(folder)?, folder.to_owned())))
        .max()
}

/// Removes the note.
///
/// # Errors
/// The note is still there.
pub fn forget(places: &Places, commit: &Digest) -> Result<()> {
    durable::remove(&path(places, commit))
}

fn path(places: &Places, commit: &Digest) -> std::path::PathBuf {
    places.state().join(format!("etc-{commit}"))
}

/// A digest over names, modes, owners, lengths and change times, without the content.
///
/// # Errors
/// A folder cannot be listed.
pub fn fingerprint(etc: &Path) -> Result<String> {
    let mut sum = Sha256::new();
    add(etc, etc, &mut sum)?;
    Ok(hex::encode(sum.finalize()))
}

fn add(top: &Path, folder: &Path, sum: &mut Sha256) -> Result<()> {
    let mut children = Vec::new();
    for child in fs::read_dir(folder).at("listing", folder)? {
        children.push(child.at("listing", folder)?.path());
    }
    children.sort();
    for path in children {
        // A file that vanishes between listing and inspection has changed /etc: its name is in
        // neither sum, or in only one.
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        let below = path.strip_prefix(top).unwrap_or(&path);
        sum.update(below.as_os_str().as_bytes());
        let facts = format!("\0{:o} {} {}", meta.mode(), meta.uid(), meta.gid());
        sum.update(facts);
        if meta.is_dir() {
            add(top, &path, sum)?;
        } else {
            sum.update(format!(
                " {} {}.{}",
                meta.len(),
                meta.mtime(),
                meta.mtime_nsec()
            ));
        }
    }
    Ok(())
}
