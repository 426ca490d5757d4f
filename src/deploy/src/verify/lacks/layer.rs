//! Folders of units, in a commit or on the disk, as far as a trial needs them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::units::{Entry, Units, needed, pulls_in};
use crate::verify::folder::Folder;
use crate::verify::image::Tree;

/// How much of a unit is read. Careen's units have at most 4 KiB.
const LONGEST: u64 = 64 << 10;

/// A folder of the image with this root.
pub fn in_image(tree: &Tree, root: &Folder, at: &str) -> Units {
    let mut units = Units::new();
    let Some(folder) = root.folder(at) else {
        return units;
    };
    add(tree, &folder, (at, ""), &mut units);
    for name in folder.folders().filter(|name| pulls_in(name)) {
        if let Some(below) = folder.folder(name) {
            add(tree, &below, (at, &format!("{name}/")), &mut units);
        }
    }
    units
}

fn add(tree: &Tree, folder: &Folder, (at, below): (&str, &str), units: &mut Units) {
    for name in needed().filter(|name| folder.files().any(|known| known == *name)) {
        let path = format!("{below}{name}");
        let entry = match folder.link(name) {
            Some(target) => link(Path::new(&target)),
            None => content(tree, &format!("{at}/{path}")),
        };
        units.insert(path, entry);
    }
}

fn content(tree: &Tree, path: &str) -> Entry {
    let mut bytes = Vec::new();
    let read = tree.read(path, &mut |piece| {
        if (bytes.len() as u64) < LONGEST {
            bytes.extend_from_slice(piece);
        }
    });
    match read {
        Some(_) => text(&bytes),
        // `verify` has already reported it by then, and a plan does not look for damage.
        None => Entry::Text(String::new()),
    }
}

/// A folder on the disk. Empty if there is none.
///
/// # Errors
/// Something in it cannot be read.
pub fn on_disk(folder: &Path) -> io::Result<Units> {
    let mut units = Units::new();
    look(folder, "", &mut units)?;
    let entries = match fs::read_dir(folder) {
        Err(error) if is_absent(&error) => return Ok(units),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        if let Some(name) = name.to_str().filter(|name| pulls_in(name)) {
            look(&folder.join(name), &format!("{name}/"), &mut units)?;
        }
    }
    Ok(units)
}

fn look(folder: &Path, below: &str, units: &mut Units) -> io::Result<()> {
    for name in needed() {
        if let Some(entry) = at(&folder.join(name))? {
            units.insert(format!("{below}{name}"), entry);
        }
    }
    Ok(())
}

fn at(path: &Path) -> io::Result<Option<Entry>> {
    let facts = match path.symlink_metadata() {
        Err(error) if is_absent(&error) => return Ok(None),
        facts => facts?,
    };
    if facts.is_symlink() {
        return Ok(Some(link(&fs::read_link(path)?)));
    }
    if !facts.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(Some(text(&bytes)))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn link(target: &Path) -> Entry {
    match target.ends_with("dev/null") {
        true => Entry::Mask,
        false => Entry::Text(String::new()),
    }
}

fn text(bytes: &[u8]) -> Entry {
    match bytes.is_empty() {
        true => Entry::Mask,
        false => Entry::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}
