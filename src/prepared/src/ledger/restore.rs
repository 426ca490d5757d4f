//! Backwards through a ledger. Each step can be repeated after a power cut.

use std::fs;
use std::path::{Path, PathBuf};

use super::entry::{Before, Entry, sum};
use super::{Ledger, read};
use crate::disk::{beside, make_folders};
use crate::error::{Error, Result, if_there};
use crate::folder::names;

impl Ledger<'_> {
    /// Restores what was there before, the last write first, and removes the ledger.
    ///
    /// # Errors
    /// Something could not be restored. The entries that are left are still in the ledger.
    pub fn restore(&self) -> Result<()> {
        for number in self.numbers()?.into_iter().rev() {
            let entry = self.entry(number)?;
            for place in self.places(&entry)? {
                self.undo(&place, &entry, number)?;
            }
            self.disk.remove(&self.page(number))?;
            self.disk.remove(&self.kept(number))?;
        }
        self.end()
    }

    fn entry(&self, number: u32) -> Result<Entry> {
        let path = self.page(number);
        let text = read(&path)?;
        serde_json::from_slice(&text).map_err(|error| Error::unusable(&path, error.to_string()))
    }

    /// The path in the running system, and in each other deployment whose /etc has a copy of what
    /// was written: an upgrade copies /etc.
    fn places(&self, entry: &Entry) -> Result<Vec<PathBuf>> {
        let mut places = vec![self.paths.below(&entry.path)];
        if let Some(rest) = entry.path.strip_prefix("/etc/") {
            let others = self.paths.etcs()?.into_iter().skip(1);
            let is_copy =
                |path: &PathBuf| fs::read(path).is_ok_and(|text| sum(&text) == entry.wrote);
            places.extend(others.map(|etc| etc.join(rest)).filter(is_copy));
        }
        Ok(places)
    }

    fn undo(&self, path: &Path, entry: &Entry, number: u32) -> Result<()> {
        self.disk.remove(&beside(path))?;
        match &entry.before {
            Before::Absent => self.disk.remove(path),
            Before::File { owner } => {
                let content = read(&self.kept(number))?;
                self.make_parents(path)?;
                self.disk.write(path, &content, *owner)
            }
            Before::Link { target } => {
                self.make_parents(path)?;
                self.disk.link(path, target)
            }
            Before::NoFolder if is_empty(path)? => self.disk.remove_folder(path),
            Before::NoFolder => Ok(()),
        }
    }

    /// A folder that held an operator's file may be gone.
    fn make_parents(&self, path: &Path) -> Result<()> {
        path.parent()
            .map_or(Ok(()), |parent| make_folders(self.disk, parent))
    }

    fn end(&self) -> Result<()> {
        // What a power cut left of an entry that was never complete.
        for name in names(&self.folder)? {
            self.disk.remove(&self.folder.join(name))?;
        }
        self.disk.remove_folder(&self.folder)
    }
}

fn is_empty(folder: &Path) -> Result<bool> {
    let list = if_there(fs::read_dir(folder), "listing", folder)?;
    Ok(list.is_some_and(|mut list| list.next().is_none()))
}
