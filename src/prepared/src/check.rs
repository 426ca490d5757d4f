//! The check list: what a cluster has left on this host. It changes nothing.

use std::path::PathBuf;

use life::{Checks, Fence};

use crate::clean::places;
use crate::error::Result;
use crate::folder::names;
use crate::kubernetes;
use crate::ledger::Ledger;
use crate::leftovers::{self, Leftover, is_named};
use crate::machine::Machine;
use crate::paths::Paths;
use crate::{control_plane, fence, pristine};

/// Looks for everything. What cannot be looked at is not clean.
#[must_use]
pub fn check(paths: &Paths, machine: &dyn Machine) -> Checks {
    let mut found = match fence::look(paths, machine) {
        Fence::Whole => Vec::new(),
        Fence::Open(open) => open,
    };
    for part in [folders(paths), of_the_lists(paths, machine)] {
        match part {
            Ok(part) => found.extend(part),
            Err(error) => found.push(error.to_string()),
        }
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        Checks::Green
    } else {
        Checks::Red(found)
    }
}

fn folders(paths: &Paths) -> Result<Vec<String>> {
    let mut found = kubernetes::aside(paths)?;
    found.extend(Ledger::all(paths)?);
    found.extend(control_plane::left(paths)?);
    for folder in kubernetes::folders(paths)? {
        let etc = folder.parent().unwrap_or(&folder);
        if !pristine::is_pristine(etc, &folder)? {
            found.push(folder);
        }
    }
    Ok(found
        .iter()
        .map(|path| path.display().to_string())
        .collect())
}

fn of_the_lists(paths: &Paths, machine: &dyn Machine) -> Result<Vec<String>> {
    let (mounts, links) = (machine.mounts(), machine.links());
    let mut found = Vec::new();
    for leftover in leftovers::all(paths)? {
        match leftover {
            Leftover::Remove(path) => found.extend(of_a_path(paths, &mounts, &path)?),
            Leftover::Empty(path) => {
                let is_empty = names(&paths.below(&path))?.is_empty();
                found.extend((!is_empty).then_some(path));
            }
            Leftover::Link(line) => {
                let named = links.iter().filter(|link| is_named(link, &line));
                found.extend(named.map(|link| format!("network link {link}")));
            }
        }
    }
    Ok(found)
}

fn of_a_path(paths: &Paths, mounts: &[PathBuf], path: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (etc, place) in places(paths, path)? {
        let mounted = mounts.iter().filter(|mount| mount.starts_with(&place));
        found.extend(mounted.map(|mount| format!("mount {}", mount.display())));
        if !pristine::is_pristine(&etc, &place)? {
            found.push(place.display().to_string());
        }
    }
    Ok(found)
}
