//! Writes the files of a plan. All of them are looked at before the first one is written.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cloud_config::File;
use nix::unistd::{Group, User};

use crate::disk::{Disk, Owner};
use crate::error::{At, Error, Result};
use crate::ledger::Ledger;
use crate::paths::Paths;

/// A file whose owner and place are known.
pub struct Ready {
    file: File,
    owner: Owner,
}

/// Folders that a reboot empties need no ledger.
const VOLATILE: [&str; 2] = ["/run/", "/var/run/"];

/// The bit of a folder's mode that lets everybody write in it.
const WRITABLE_BY_ALL: u32 = 0o002;

/// Looks at each file of a plan.
///
/// # Errors
/// The user or the group is not known, or the path leads into the image.
pub fn prepare(paths: &Paths, files: Vec<File>) -> Result<Vec<Ready>> {
    let one = |file: File| {
        check_place(paths, &file.path)?;
        let owner = owner(paths, &file)?;
        Ok(Ready { file, owner })
    };
    files.into_iter().map(one).collect()
}

/// Writes them, each one into the ledger first.
///
/// # Errors
/// Some are not written. The ledger has all that are.
pub fn write(paths: &Paths, disk: &dyn Disk, ledger: &Ledger<'_>, files: &[Ready]) -> Result<()> {
    for ready in files {
        let path = &ready.file.path;
        make_parents(paths, disk, ledger, path)?;
        let place = paths.below(path);
        let content = content(&place, &ready.file)?;
        if !is_volatile(path) {
            ledger.note(path, &content)?;
        }
        disk.write(&place, &content, ready.owner)?;
    }
    Ok(())
}

fn is_volatile(path: &str) -> bool {
    VOLATILE.iter().any(|folder| path.starts_with(folder))
}

fn content(place: &Path, file: &File) -> Result<Vec<u8>> {
    if !file.append {
        return Ok(file.content.clone());
    }
    let before = crate::error::if_there(fs::read(place), "reading", place)?;
    Ok([before.unwrap_or_default(), file.content.clone()].concat())
}

fn make_parents(paths: &Paths, disk: &dyn Disk, ledger: &Ledger<'_>, path: &str) -> Result<()> {
    let parents: Vec<_> = Path::new(path).ancestors().skip(1).collect();
    for parent in parents.into_iter().rev() {
        let Some(name) = parent.to_str() else {
            continue;
        };
        let place = paths.below(name);
        if place.is_dir() {
            continue;
        }
        if !is_volatile(&format!("{name}/")) {
            ledger.note_folder(name)?;
        }
        disk.make_folder(&place, Owner::root(0o755))?;
    }
    Ok(())
}

/// A link among the parents could lead into the image, which nothing may change. In a folder where
/// everybody may write, another user can replace what leads to the file.
fn check_place(paths: &Paths, path: &str) -> Result<()> {
    let place = paths.below(path);
    if place.is_dir() {
        return Err(Error::unusable(
            &place,
            "it is a folder; use the path of a file",
        ));
    }
    let root = paths.below("/");
    let root = root.canonicalize().at("looking at", &root)?;
    let parent = place.ancestors().skip(1).find(|parent| parent.is_dir());
    let Some(parent) = parent.and_then(|parent| parent.canonicalize().ok()) else {
        return Ok(());
    };
    let mode = fs::metadata(&parent).at("looking at", &parent)?.mode();
    if mode & WRITABLE_BY_ALL != 0 {
        let detail = "everybody may write in its folder; use a path below /etc, /var/lib or /run";
        return Err(Error::unusable(&place, detail));
    }
    let is_of = |folder: &str| parent.starts_with(root.join(folder));
    if is_of("usr") && !is_of("usr/local") || is_of("sysroot") || is_of("boot") {
        let detail = "its folder leads into the image; use a path below /etc, /var or /run";
        return Err(Error::unusable(&place, detail));
    }
    Ok(())
}

fn owner(paths: &Paths, file: &File) -> Result<Owner> {
    let unknown = |what: &str| {
        let place: PathBuf = paths.below(&file.path);
        Error::unusable(
            &place,
            format!("this host has no such {what}; use one of the image"),
        )
    };
    let user = match &file.user {
        None => 0,
        Some(name) => user(name).ok_or_else(|| unknown("user"))?,
    };
    let group = match &file.group {
        None => 0,
        Some(name) => group(name).ok_or_else(|| unknown("group"))?,
    };
    Ok(Owner {
        user,
        group,
        mode: file.mode,
    })
}

fn user(name: &str) -> Option<u32> {
    let number = || {
        User::from_name(name)
            .ok()
            .flatten()
            .map(|user| user.uid.as_raw())
    };
    name.parse().ok().or_else(number)
}

fn group(name: &str) -> Option<u32> {
    let number = || {
        Group::from_name(name)
            .ok()
            .flatten()
            .map(|group| group.gid.as_raw())
    };
    name.parse().ok().or_else(number)
}
