//! Copies a folder with everything that makes it what it is: owners, modes, extended attributes
//! (SELinux labels and ACLs are such) and times. Nothing is cached when the function returns.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use crate::durable;
use crate::error::{At, Error, Result};

/// Copies a folder to a path that does not exist yet.
///
/// # Errors
/// The copy is not complete on the disk, or the folder has something other than files, folders and
/// links.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    copy_entry(from, to)?;
    durable::sync_parent(to)
}

fn copy_entry(from: &Path, to: &Path) -> Result<()> {
    let facts = fs::symlink_metadata(from).at("looking at", from)?;
    if facts.is_symlink() {
        let target = fs::read_link(from).at("reading", from)?;
        symlink(target, to).at("linking", to)?;
        return dress(from, to, &facts);
    }
    if facts.is_dir() {
        return copy_folder(from, to, &facts);
    }
    if !facts.is_file() {
        let detail = "it is neither a file nor a folder nor a link; remove it";
        return Err(Error::damaged(from, detail));
    }
    fs::copy(from, to).at("copying", from)?;
    dress(from, to, &facts)?;
    flush(to, &facts)
}

fn copy_folder(from: &Path, to: &Path, facts: &Metadata) -> Result<()> {
    fs::create_dir(to).at("making folder", to)?;
    for entry in fs::read_dir(from).at("listing", from)? {
        let path = entry.at("listing", from)?.path();
        let name = path.file_name().unwrap_or_default();
        copy_entry(&path, &to.join(name))?;
    }
    dress(from, to, facts)?;
    flush(to, facts)
}

/// Gives the copy its owner, mode and extended attributes. The owner is first, because a change of
/// owner clears bits of the mode (chown(2)).
fn dress(from: &Path, to: &Path, facts: &Metadata) -> Result<()> {
    lchown(to, Some(facts.uid()), Some(facts.gid())).at("changing the owner of", to)?;
    if !facts.is_symlink() {
        let mode = Permissions::from_mode(facts.mode() & 0o7777);
        fs::set_permissions(to, mode).at("changing the mode of", to)?;
    }
    for (name, value) in attributes(from)? {
        xattr::set(to, &name, &value).at("writing an extended attribute of", to)?;
    }
    Ok(())
}

fn flush(to: &Path, facts: &Metadata) -> Result<()> {
    let opened = File::open(to).at("opening", to)?;
    let modified = facts.modified().at("looking at", to)?;
    let times = FileTimes::new().set_modified(modified);
    opened.set_times(times).at("changing the time of", to)?;
    opened.sync_all().at("syncing", to)
}

/// Whether two folders have the same content, owners, modes and extended attributes.
///
/// # Errors
/// One of them cannot be read.
pub fn is_same(one: &Path, other: &Path) -> Result<bool> {
    Ok(all(one)? == all(other)?)
}

/// What [`copy`] keeps of one entry, besides times.
#[derive(PartialEq, Eq)]
struct Entry {
    owner: (u32, u32),
    mode: u32,
    attributes: BTreeMap<OsString, Vec<u8>>,
    content: Vec<u8>,
}

fn all(folder: &Path) -> Result<BTreeMap<PathBuf, Entry>> {
    let mut all = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let path = folder.join(&below);
        let facts = fs::symlink_metadata(&path).at("looking at", &path)?;
        if facts.is_dir() {
            for entry in fs::read_dir(&path).at("listing", &path)? {
                open.push(below.join(entry.at("listing", &path)?.file_name()));
            }
        }
        all.insert(below, entry(&path, &facts)?);
    }
    Ok(all)
}

fn entry(path: &Path, facts: &Metadata) -> Result<Entry> {
    use std::os::unix::ffi::OsStringExt;
    let content = if facts.is_symlink() {
        let target = fs::read_link(path).at("reading", path)?;
        target.into_os_string().into_vec()
    } else if facts.is_file() {
        fs::read(path).at("reading", path)?
    } else {
        Vec::new()
    };
    Ok(Entry {
        owner: (facts.uid(), facts.gid()),
        mode: facts.mode(),
        attributes: attributes(path)?,
        content,
    })
}

/// The extended attributes of the entry itself, not of what a link leads to. A file system without
/// them has none.
fn attributes(path: &Path) -> Result<BTreeMap<OsString, Vec<u8>>> {
    let names = match xattr::list(path) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(BTreeMap::new()),
        Err(error) => return Err(error).at("reading extended attributes of", path),
    };
    let mut found = BTreeMap::new();
    for name in names {
        let value = xattr::get(path, &name).at("reading extended attributes of", path)?;
        found.extend(value.map(|value| (name, value)));
    }
    Ok(found)
}
