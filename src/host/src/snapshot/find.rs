//! Finds the files of a snapshot: only regular files, never a key.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use upgrade::reason::complaint;

use super::way::{self, DEEPEST, MOST, There, Way};
use crate::backup_files::is_leftover;
use crate::error::{At, Error, Result};
use crate::trust;

/// No file below a folder of this name is ever saved or restored.
const NEVER: &str = "pki";

/// Like [`lists`], for an operator's folder: only root may decide what is saved and restored. A
/// line that names nothing is an error, because its author relies on it. In an image it is none: a
/// node could never leave such an image.
pub(super) fn lists_of_the_operator(folder: &Path) -> Result<Vec<String>> {
    let files = names(folder)?.into_iter().map(|name| folder.join(name));
    let mut faults = files.filter_map(|file| trust::fault(&file));
    faults
        .next()
        .map_or(Ok(()), |fault| Err(Error::Untrusted(fault)))?;
    for name in names(folder)? {
        names_something(&folder.join(name))?;
    }
    lists(folder)
}

/// Checks that each line of a list can name a file.
fn names_something(list: &Path) -> Result<()> {
    let text = fs::read_to_string(list).at("reading", list)?;
    let mut lines = (1..).zip(text.lines());
    let wrong = lines.find_map(|(number, line)| Some((number, line, wrong_in(line.trim())?)));
    let Some((number, line, wrong)) = wrong else {
        return Ok(());
    };
    let line = complaint(&line.trim());
    let detail = format!("line {number} is {line:?}: {wrong}; write absolute paths, one a line");
    Err(Error::damaged(list, detail))
}

/// Why a line names nothing.
fn wrong_in(line: &str) -> Option<&'static str> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (folder, _) = line
        .trim_end_matches('/')
        .rsplit_once('/')
        .unwrap_or_default();
    if !line.starts_with('/') {
        Some("it does not begin with /")
    } else if folder.contains('*') {
        Some("it has * before its last part")
    } else {
        None
    }
}

/// The paths in the files of a snapshot.d folder, one per line; `#` starts a comment.
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

/// The regular files that the sources match now, in order and without duplicates, as absolute paths
/// of the node.
pub(super) fn all(way: &Way, sources: &[String]) -> Result<Vec<String>> {
    let mut walk = Walk {
        way,
        seen: 0,
        found: Vec::new(),
    };
    for source in sources.iter().filter(|source| !is_kept_out(source)) {
        let (folder, pattern) = source
            .trim_end_matches('/')
            .rsplit_once('/')
            .unwrap_or(("", source));
        if !pattern.contains('*') {
            walk.enter(&way.settled(&format!("{folder}/{pattern}")))?;
            continue;
        }
        let folder = way.settled(folder);
        let Some(There::Folder(opened)) = way.look(&folder)? else {
            continue;
        };
        for name in way::names(&opened, &way.full(&folder))? {
            if matches(&name, pattern) {
                walk.enter(&format!("{}/{name}", folder.trim_end_matches('/')))?;
            }
        }
    }
    let mut found = walk.found;
    found.sort();
    found.dedup();
    Ok(found)
}

fn is_kept_out(path: &str) -> bool {
    path.split('/').any(|part| part == NEVER || part == "..")
}

struct Walk<'a> {
    way: &'a Way,
    /// Files and folders so far.
    seen: usize,
    found: Vec<String>,
}

/// A folder that the walk is in, and the names in it that are still to come.
struct Open {
    folder: OwnedFd,
    path: String,
    names: std::vec::IntoIter<String>,
}

impl Walk<'_> {
    /// Enters a file, or all files below a folder. Links are not followed: they could lead
    /// anywhere.
    ///
    /// The folders from the listed one down to the present one are open, at most [`DEEPEST`]. So a
    /// name is looked up in its own folder, and the depth costs no stack.
    fn enter(&mut self, path: &str) -> Result<()> {
        let mut open: Vec<Open> = Vec::new();
        if self.counts(path)? {
            let there = self.way.look(path)?;
            open.extend(self.visit(there, path.to_owned())?);
        }
        while let Some(here) = open.last_mut() {
            let Some(name) = here.names.next() else {
                open.pop();
                continue;
            };
            let path = format!("{}/{name}", here.path);
            if !self.counts(&path)? {
                continue;
            }
            let there = self.way.look_in(&here.folder, &name, &path)?;
            let Some(next) = self.visit(there, path)? else {
                continue;
            };
            if open.len() == DEEPEST {
                return Err(way::too_deep(&self.way.full(&next.path)));
            }
            open.push(next);
        }
        Ok(())
    }

    /// Counts a path, unless nothing at it is ever saved.
    fn counts(&mut self, path: &str) -> Result<bool> {
        if is_kept_out(path) {
            return Ok(false);
        }
        self.seen += 1;
        if self.seen > MOST {
            return Err(way::too_many(&self.way.full(path)));
        }
        Ok(true)
    }

    /// Takes a file. Returns a folder with its names.
    fn visit(&mut self, there: Option<There>, path: String) -> Result<Option<Open>> {
        match there {
            Some(There::File(..)) => self.found.push(path),
            Some(There::Folder(folder)) => {
                let names = way::names(&folder, &self.way.full(&path))?.into_iter();
                return Ok(Some(Open {
                    folder,
                    path,
                    names,
                }));
            }
            Some(There::Other) | None => {}
        }
        Ok(None)
    }
}

/// `*` matches any characters and may occur several times.
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
        let name = child.at("listing", folder)?.file_name();
        // The backup of a list would save and restore what the list does not name any more.
        if !is_leftover(&name) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
