//! The deployment's own /etc/kubernetes, below the mount.

use std::fs;
use std::path::Path;

use crate::durable;
use crate::error::{At, Result};

/// The names in a folder, in order. A folder that does not exist has none.
pub(super) fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).at("listing", folder),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.at("listing", folder)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Removes everything in a folder, and not the folder. Makes that durable.
///
/// # Errors
/// Some of it may be left.
pub fn clear(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).at("listing", folder)? {
        let path = entry.at("listing", folder)?.path();
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir());
        let removed = if is_folder {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.at("removing", &path)?;
    }
    durable::sync_folder(folder)
}
