//! What is in a folder.

use std::fs;
use std::path::Path;

use crate::error::{At, Result, if_there};

/// The names in a folder, sorted; none if it does not exist.
///
/// # Errors
/// It cannot be listed.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let Some(list) = if_there(fs::read_dir(folder), "listing", folder)? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in list {
        let name = entry.at("listing", folder)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Whether something has this path. A link that leads nowhere counts.
///
/// # Errors
/// It cannot be looked at.
pub fn exists(path: &Path) -> Result<bool> {
    let facts = if_there(fs::symlink_metadata(path), "looking at", path)?;
    Ok(facts.is_some())
}
