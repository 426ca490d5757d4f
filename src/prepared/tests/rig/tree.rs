//! What is in a folder, to compare before and after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Each file and link by its path, with owner, mode and content. Empty folders do not count.
pub type Tree = BTreeMap<String, String>;

pub fn of(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    walk(folder, folder, &mut tree);
    tree
}

fn walk(top: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(top).unwrap().display().to_string();
        if facts.is_dir() {
            walk(top, &path, tree);
            continue;
        }
        let content = match facts.is_symlink() {
            true => fs::read_link(&path).unwrap().display().to_string(),
            false => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
        };
        let mode = facts.permissions().mode() & 0o7777;
        tree.insert(
            name,
            format!("{}:{} {mode:o} {content}", facts.uid(), facts.gid()),
        );
    }
}
