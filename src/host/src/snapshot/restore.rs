//! Restores the state.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use upgrade::UpgradeId;

use super::find;
use super::index::{INDEX, Index, Saved};
use super::way::{self, There, Way};
use crate::Places;
use crate::error::{At, Error, Result};

/// A snapshot that was read.
#[derive(Debug)]
pub struct Snapshot {
    folder: PathBuf,
    index: Index,
}

/// Reads a snapshot without restoring it.
///
/// # Errors
/// There is no snapshot, or it is damaged.
pub fn open(places: &Places, id: &UpgradeId) -> Result<Snapshot> {
    let folder = places.snapshot(id);
    let path = folder.join(INDEX);
    let bytes = fs::read(&path).at("reading", &path)?;
    let index =
        serde_json::from_slice(&bytes).map_err(|error| Error::damaged(&path, error.to_string()))?;
    Ok(Snapshot { folder, index })
}

/// Reads a snapshot and restores it.
///
/// # Errors
/// As [`open`] and [`Snapshot::put_back`].
pub fn restore(places: &Places, id: &UpgradeId) -> Result<usize> {
    open(places, id)?.put_back(places)
}

impl Snapshot {
    /// Restores the state and removes files that did not exist then. Unchanged files are not
    /// written. Returns how many files changed.
    ///
    /// # Errors
    /// The first file that could not be restored; the others are tried all the same.
    pub fn put_back(&self, places: &Places) -> Result<usize> {
        let way = Way::from(&places.root)?;
        let files = self.index.files.iter();
        let mut results: Vec<Result<bool>> =
            files.map(|saved| self.put_file(&way, saved)).collect();
        match find::all(&way, &self.index.sources) {
            Ok(there) => {
                let held = self.held(&way);
                let new = there.iter().filter(|path| !held.contains(*path));
                results.extend(new.map(|path| clear(&way, path)));
            }
            Err(error) => results.push(Err(error)),
        }
        results.into_iter().try_fold(0, |changed, result| {
            result.map(|one| changed + usize::from(one))
        })
    }

    /// The paths of the saved files. An earlier version noted them as the lists have them.
    fn held(&self, way: &Way) -> HashSet<String> {
        let files = self.index.files.iter();
        files
            .flat_map(|saved| [saved.path.clone(), way.settled(&saved.path)])
            .collect()
    }

    fn put_file(&self, way: &Way, saved: &Saved) -> Result<bool> {
        let content = self.folder.join(&saved.content);
        let wanted = fs::read(&content).at("reading", &content)?;
        let full = way.full(&saved.path);
        let Some(place) = way.place(&saved.path)? else {
            return Err(Error::damaged(&full, "its folder is gone"));
        };
        // A path that is no longer a regular file has changed, whatever it leads to.
        if let Ok(Some(There::File(file, facts))) = way.look(&saved.path)
            && facts.len() == wanted.len() as u64
            && way::content(file, &facts, &full).is_ok_and(|found| found == wanted)
        {
            // The writer of the file may have died before the name was on the disk.
            return place.sync().map(|()| false);
        }
        place.put(&wanted, saved).map(|()| true)
    }
}

fn clear(way: &Way, path: &str) -> Result<bool> {
    match way.place(path)? {
        Some(place) => place.clear().map(|()| true),
        None => Ok(false),
    }
}
