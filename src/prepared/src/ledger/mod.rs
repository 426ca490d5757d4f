//! The ledger of one claim: what was at each path before the bootstrap data wrote there, in the
//! order of the writes. A cleaning goes backwards through it.

mod entry;
mod restore;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use life::ClaimId;

use crate::disk::{Disk, Owner, write_json};
use crate::error::{At, Error, Result, if_there};
use crate::folder::names;
use crate::paths::Paths;

pub use entry::{Before, Entry};

/// The ledger of one claim.
pub struct Ledger<'a> {
    paths: &'a Paths,
    disk: &'a dyn Disk,
    folder: PathBuf,
}

impl<'a> Ledger<'a> {
    /// The ledger of this claim, which may not exist yet.
    #[must_use]
    pub fn of(paths: &'a Paths, disk: &'a dyn Disk, claim: &ClaimId) -> Self {
        Self {
            paths,
            disk,
            folder: paths.ledger(claim),
        }
    }

    /// All ledgers that are on the disk.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn all(paths: &Paths) -> Result<Vec<PathBuf>> {
        let names = names(&paths.state())?;
        let is_ledger = |name: &&String| name.starts_with("ledger-");
        let state = paths.state();
        Ok(names
            .iter()
            .filter(is_ledger)
            .map(|name| state.join(name))
            .collect())
    }

    /// Makes the ledger's folder.
    ///
    /// # Errors
    /// It may not be on the disk.
    pub fn begin(&self) -> Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        self.disk.make_folder(&self.folder, Owner::root(0o700))
    }

    /// Notes what is at a path, right before this content is written there.
    ///
    /// # Errors
    /// The note may not be on the disk, so nothing may be written.
    pub fn note(&self, path: &str, wrote: &[u8]) -> Result<()> {
        let before = before(&self.paths.below(path))?;
        let number = self.numbers()?.last().map_or(0, |last| last + 1);
        let content = match &before {
            Before::File { .. } => Some(read(&self.paths.below(path))?),
            Before::Absent | Before::Link { .. } | Before::NoFolder => None,
        };
        if let Some(content) = content {
            self.disk
                .write(&self.kept(number), &content, Owner::root(0o600))?;
        }
        self.put(number, &Entry::new(path, before, wrote))
    }

    /// Notes that a folder is about to be made.
    ///
    /// # Errors
    /// As [`Ledger::note`].
    pub fn note_folder(&self, path: &str) -> Result<()> {
        let number = self.numbers()?.last().map_or(0, |last| last + 1);
        self.put(number, &Entry::new(path, Before::NoFolder, b""))
    }

    fn put(&self, number: u32, entry: &Entry) -> Result<()> {
        write_json(self.disk, &self.page(number), entry)
    }

    /// The numbers of the entries, in the order of the writes.
    fn numbers(&self) -> Result<Vec<u32>> {
        let names = names(&self.folder)?;
        let number = |name: &String| name.strip_suffix(".json")?.parse().ok();
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn page(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{number:06}.json"))
    }

    fn kept(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{number:06}.before"))
    }
}

fn before(path: &Path) -> Result<Before> {
    let Some(facts) = if_there(fs::symlink_metadata(path), "looking at", path)? else {
        return Ok(Before::Absent);
    };
    if facts.is_symlink() {
        let target = fs::read_link(path).at("reading", path)?;
        return Ok(Before::Link { target });
    }
    if !facts.is_file() {
        return Err(Error::unusable(path, "it is neither a file nor a link"));
    }
    let owner = Owner {
        user: facts.uid(),
        group: facts.gid(),
        mode: facts.permissions().mode() & 0o7777,
    };
    Ok(Before::File { owner })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).at("reading", path)
}
