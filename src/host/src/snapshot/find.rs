//! Finding the files that a snapshot is of: plain files alone, never a key.

use std::fs;
use std::path::Path;

use crate::error::{At, Result};

/// No file below a folder of this name is ever saved or put back.
const NEVER: &str = "pki";

/// The paths listed by the files of a snapshot.d folder, one a line; `#` begins a remark.
pub(super) fn lists(folder: &Path) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for name in names(folder)? {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).at("reading", &path)?;
        let wanted = text
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with('/'));
        lines.extend(wanted.map(str::to_owned));
    }
    Ok(lines)
}

/// The plain files that the sources name now, in order and once each, as absolute paths of the node.
pub(super) fn all(root: &Path, sources: &[String]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for source in sources {
        let (folder, pattern) = source
            .trim_end_matches('/')
            .rsplit_once('/')
            .unwrap_or(("", source));
        if !pattern.contains('*') {
            walk(root, &format!("{folder}/{pattern}"), &mut found)?;
            continue;
        }
        for name in names(&root.join(folder.trim_start_matches('/')))? {
            if matches(&name, pattern) {
                walk(root, &format!("{folder}/{name}"), &mut found)?;
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// A file, or all files below a folder. Links are not followed: they could lead anywhere.
fn walk(root: &Path, path: &str, found: &mut Vec<String>) -> Result<()> {
    if path.split('/').any(|part| part == NEVER || part == "..") {
        return Ok(());
    }
    let full = root.join(path.trim_start_matches('/'));
    let Ok(meta) = fs::symlink_metadata(&full) else {
        return Ok(());
    };
    if meta.is_file() {
        found.push(path.to_owned());
    } else if meta.is_dir() {
        for name in names(&full)? {
            walk(root, &format!("{path}/{name}"), found)?;
        }
    }
    Ok(())
}

/// A star stands for any letters, as often as it comes.
fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((head, tail)) => {
            let Some(rest) = name.strip_prefix(head) else {
                return false;
            };
            (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| matches(rest, tail)))
        }
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).at("listing", folder),
    };
    let mut names = Vec::new();
    for child in list {
        names.push(
            child
                .at("listing", folder)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    Ok(names)
}
