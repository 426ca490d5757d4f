//! What a folder holds, as lines that two trees can be compared by.

use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Every file and link below a folder: its path, and its target or the sum of its content.
pub fn lines(folder: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    collect(folder, folder, &mut found)
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    found.sort();
    Ok(found)
}

fn collect(top: &Path, folder: &Path, found: &mut Vec<String>) -> std::io::Result<()> {
    for child in fs::read_dir(folder)? {
        let path = child?.path();
        let name = path
            .strip_prefix(top)
            .unwrap_or(&path)
            .display()
            .to_string();
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            collect(top, &path, found)?;
        } else if kind.is_symlink() {
            found.push(format!("{name} -> {}", fs::read_link(&path)?.display()));
        } else {
            found.push(format!("{name} {:x}", Sha256::digest(fs::read(&path)?)));
        }
    }
    Ok(())
}

/// The first line that one has and the other lacks.
pub fn difference(found: &[String], wanted: &[String]) -> Option<String> {
    let lacks = wanted.iter().find(|line| !found.contains(line));
    let more = found.iter().find(|line| !wanted.contains(line));
    match (lacks, more) {
        (None, None) => None,
        (lacks, more) => Some(format!("lacks {lacks:?}, has {more:?}")),
    }
}
