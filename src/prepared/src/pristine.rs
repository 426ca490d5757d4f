//! Folders as the image has them. libostree keeps the image's /etc in /usr/etc of the deployment.

use std::fs;
use std::path::{Path, PathBuf};

use host::kubernetes::is_same;

use crate::disk::{Disk, make_folders};
use crate::error::{At, Error, Result, if_there};
use crate::folder::{exists, names};

/// What the image has at this path of an /etc. Both are in the same deployment.
fn of_the_image(etc: &Path, path: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(etc).ok()?;
    Some(etc.with_file_name("usr").join("etc").join(rest))
}

/// Whether the path is as in the image: absent, or with the image's content. An empty folder is
/// nothing.
///
/// # Errors
/// It cannot be read.
pub fn is_pristine(etc: &Path, path: &Path) -> Result<bool> {
    if !exists(path)? || is_hollow(path)? {
        return Ok(true);
    }
    match of_the_image(etc, path) {
        Some(image) if exists(&image)? => Ok(is_same(&image, path)?),
        Some(_) | None => Ok(false),
    }
}

/// Whether there is nothing but folders.
fn is_hollow(path: &Path) -> Result<bool> {
    let facts = if_there(fs::symlink_metadata(path), "looking at", path)?;
    if !facts.is_some_and(|facts| facts.is_dir()) {
        return Ok(false);
    }
    for name in names(path)? {
        if !is_hollow(&path.join(name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes the path as it is in the image. An empty folder stays, unless the image has more.
///
/// # Errors
/// Something is mounted below it, or it could not be removed.
pub fn restore(disk: &dyn Disk, mounts: &[PathBuf], etc: &Path, path: &Path) -> Result<()> {
    let image = match of_the_image(etc, path) {
        Some(image) if exists(&image)? && !is_hollow(&image)? => Some(image),
        Some(_) | None => None,
    };
    let is_done = match &image {
        Some(image) => exists(path)? && is_same(image, path)?,
        None => is_pristine(etc, path)?,
    };
    if is_done {
        return Ok(());
    }
    remove(disk, mounts, path)?;
    match image {
        Some(image) => {
            make_folders(disk, path.parent().unwrap_or(etc))?;
            disk.copy(&image, path)
        }
        None => Ok(()),
    }
}

/// Removes a path with all below it, but never through a mount: what is mounted may be the data of
/// a user.
///
/// # Errors
/// Something is mounted below it, or the disk did not accept a change.
pub fn remove(disk: &dyn Disk, mounts: &[PathBuf], path: &Path) -> Result<()> {
    if let Some(mount) = mounts.iter().find(|mount| mount.starts_with(path)) {
        let detail = format!("{} is mounted; a reboot takes it away", mount.display());
        return Err(Error::unusable(path, detail));
    }
    remove_tree(disk, path)
}

fn remove_tree(disk: &dyn Disk, path: &Path) -> Result<()> {
    let Some(facts) = if_there(fs::symlink_metadata(path), "looking at", path)? else {
        return Ok(());
    };
    if !facts.is_dir() {
        return disk.remove(path);
    }
    for entry in fs::read_dir(path).at("listing", path)? {
        remove_tree(disk, &entry.at("listing", path)?.path())?;
    }
    disk.remove_folder(path)
}
