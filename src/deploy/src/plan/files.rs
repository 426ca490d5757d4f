//! The changes if there is no list of packages: folders of both trees, with their growth in bytes.

use std::collections::BTreeSet;

use ostree_ext::glib;
use upgrade::Reason;
use upgrade::plan::{Change, Package};

use super::packages::growth;
use crate::verify::folder::Folder;
use crate::verify::image::Tree;

/// The depth at which folders are distinguished: `/usr/lib` is one.
const DEPTH: usize = 2;

/// The folders that differ, as packages without versions.
///
/// # Errors
/// One of the two trees cannot be read.
pub fn changes(before: &Tree, after: &Tree) -> Result<Vec<Package>, Reason> {
    let mut found = Vec::new();
    let (old, new) = (before.folder()?, after.folder()?);
    let compared = compare("", Some(&old), Some(&new), DEPTH, &mut found);
    compared.map_err(|error| after.damaged(&error))?;
    Ok(found)
}

fn compare(
    path: &str,
    before: Option<&Folder>,
    after: Option<&Folder>,
    depth: usize,
    found: &mut Vec<Package>,
) -> Result<(), glib::Error> {
    if depth == 0 {
        let bytes = growth(size(before)?, size(after)?);
        found.push(Package {
            name: path.to_owned(),
            change: Change::default(),
            bytes,
        });
        return Ok(());
    }
    for name in names(before, after) {
        let list = |folder: Option<&Folder>| {
            let lists = folder.map(Folder::lists).unwrap_or_default();
            lists.iter().find(|(known, _)| *known == name).cloned()
        };
        // A folder's object covers everything below it.
        if list(before) != list(after) {
            let (old, new) = (below(before, &name), below(after, &name));
            let path = format!("{path}/{name}");
            compare(&path, old.as_ref(), new.as_ref(), depth - 1, found)?;
        }
    }
    Ok(())
}

fn names(before: Option<&Folder>, after: Option<&Folder>) -> BTreeSet<String> {
    let folders = [before, after].into_iter().flatten();
    let names = folders.flat_map(Folder::folders);
    names.map(str::to_owned).collect()
}

fn below(folder: Option<&Folder>, name: &str) -> Option<Folder> {
    folder?.folder(name)
}

fn size(folder: Option<&Folder>) -> Result<u64, glib::Error> {
    let lengths = folder.map_or(Ok(Vec::new()), Folder::lengths)?;
    Ok(lengths.into_iter().fold(0, u64::saturating_add))
}
