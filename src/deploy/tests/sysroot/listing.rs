//! Everything on a node's disk, so that a test can say what has changed and that nothing has.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Files up to here are compared by content, larger ones by length and time of change.
const SMALL: u64 = 64 * 1024;

/// Left out: the first program that takes a lock makes its file, and libostree keeps what it is
/// about to write, and the summaries it has seen, in `tmp`.
const PASSING: [&str; 3] = ["ostree/lock", "ostree/repo/.lock", "ostree/repo/tmp"];

/// All paths with kind, mode, owner and content.
#[derive(Debug, PartialEq, Eq)]
pub struct Listing(BTreeMap<PathBuf, String>);

impl Listing {
    pub fn of(root: &Path) -> Self {
        let mut found = BTreeMap::new();
        add(root, root, &mut found);
        Self(found)
    }

    /// What is gone, new or other in a later listing.
    pub fn changes(&self, later: &Self) -> Vec<Change> {
        let gone = self.0.keys().filter(|path| !later.0.contains_key(*path));
        let new = later.0.keys().filter(|path| !self.0.contains_key(*path));
        let other = self.0.iter().filter_map(|(path, before)| {
            let after = later.0.get(path)?;
            (before != after).then(|| Change::Other(path.clone(), format!("{before} -> {after}")))
        });
        gone.map(|path| Change::Gone(path.clone()))
            .chain(new.map(|path| Change::New(path.clone())))
            .chain(other)
            .collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Gone(PathBuf),
    New(PathBuf),
    /// The path, and what it was and is.
    Other(PathBuf, String),
}

fn add(root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let below = path.strip_prefix(root).unwrap().to_owned();
        if PASSING.iter().any(|passing| below.starts_with(passing)) {
            continue;
        }
        let facts = path.symlink_metadata().unwrap();
        let lies = format!(
            "{:o} {}:{} {}",
            facts.mode(),
            facts.uid(),
            facts.gid(),
            content(&path)
        );
        found.insert(below, lies);
        if facts.is_dir() {
            add(root, &path, found);
        }
    }
}

fn content(path: &Path) -> String {
    let facts = path.symlink_metadata().unwrap();
    if facts.is_symlink() {
        return fs::read_link(path).unwrap().display().to_string();
    }
    if !facts.is_file() {
        return String::new();
    }
    if facts.len() > SMALL {
        return format!(
            "{} bytes of {}.{}",
            facts.len(),
            facts.mtime(),
            facts.mtime_nsec()
        );
    }
    let digest = Sha256::digest(fs::read(path).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
