//! Files that are completely on the disk, or not at all, when the function returns.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{At, Error, Result};

/// Writes a file through a temporary one beside it, so that a power cut leaves the old or the new
/// content.
///
/// # Errors
/// The content may not be on the disk.
pub fn write(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let new = beside(path);
    write_plain(&new, content, mode)?;
    rename(&new, path)
}

/// Renames a file and makes the new name durable.
///
/// # Errors
/// The new name may not be on the disk.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).at("renaming to", to)?;
    sync_parent(to)
}

/// Gives a file a second name.
///
/// # Errors
/// The file does not have the second name.
pub fn link(path: &Path, name: &Path) -> Result<()> {
    fs::hard_link(path, name).at("linking", name)
}

/// Removes a file and what an interrupted write left beside it, if they exist. Makes that durable.
///
/// # Errors
/// The file may still be there after a power cut.
pub fn remove(path: &Path) -> Result<()> {
    let left_over = remove_plain(&beside(path))?;
    if remove_plain(path)? || left_over {
        sync_parent(path)
    } else {
        Ok(())
    }
}

/// Returns whether there was something to remove.
fn remove_plain(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).at("removing", path),
    }
}

/// Makes a folder that only root may enter, and its parents.
///
/// # Errors
/// The folder does not exist afterwards.
pub fn make_private_folder(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => return Ok(()),
        // With a link, its creator would decide where root writes.
        Ok(_) => return Err(Error::damaged(path, "it is not a folder; remove it")),
        Err(_) => {}
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .at("making folder", path)?;
    // The umask reduces the mode above, and a folder that another process has just made does not
    // get it.
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).at("protecting folder", path)?;
    sync_parent(path)
}

/// Makes a folder that everybody may read, and its parents.
///
/// # Errors
/// The folder does not exist afterwards.
pub fn make_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .at("making folder", path)?;
    sync_parent(path)
}

/// Removes a folder with its content, if it exists. Makes that durable.
///
/// # Errors
/// Some of it may be left.
pub fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).at("removing", path),
    }
}

/// Flushes a folder's directory entries.
///
/// # Errors
/// The system call failed.
pub fn sync_folder(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .at("syncing", path)
}

pub(crate) fn sync_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), sync_folder)
}

/// Writes and flushes a file that no process reads yet. An existing file is removed first: in a
/// folder that other users may write, a link would redirect root's write. Further changes must use
/// the returned file, because the name may be a link by then.
pub(crate) fn write_plain(path: &Path, content: &[u8], mode: u32) -> Result<File> {
    remove_plain(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let mut file = options.open(path).at("creating", path)?;
    file.set_permissions(fs::Permissions::from_mode(mode))
        .at("setting the mode of", path)?;
    file.write_all(content).at("writing", path)?;
    file.sync_all().at("syncing", path)?;
    Ok(file)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}
