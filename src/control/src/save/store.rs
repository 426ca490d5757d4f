//! The folder of snapshots.

use std::fs::{self, File, Permissions, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use host::durable;
use host::etcd_snapshots::{self, COMPLETE};
use upgrade::control_plane::{Kept, Refusal, Saving};
use upgrade::{UpgradeId, names};

use super::note::Note;
use super::part::Part;
use super::unwritten::not_written;
use crate::folder::Folder;

/// Where snapshots are.
pub(super) const FOLDER: &str = names::ETCD_SNAPSHOTS;

/// One that is being written.
const PART: &str = ".db.part";
/// What is known of one, beside it.
const NOTE: &str = ".json";
/// A note that is being written.
const NEW_NOTE: &str = ".json.new";

/// The folder, which only this run writes.
pub(super) struct Store {
    path: PathBuf,
    _only: File,
}

impl Store {
    /// Opens the folder for this run alone, and removes what an earlier run left half done.
    pub fn open(folder: &Folder) -> Result<Self, Saving> {
        let path = folder.path(FOLDER);
        durable::make_private_folder(&path).map_err(|error| not_written(error.to_string()))?;
        let why = |error: std::io::Error| not_written(format!("{FOLDER}: {error}"));
        fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(why)?;
        let only = File::open(&path).map_err(why)?;
        match only.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Saving::Refused(Refusal::Running)),
            Err(TryLockError::Error(error)) => return Err(why(error)),
        }
        let store = Self { path, _only: only };
        store.clean()?;
        Ok(store)
    }

    /// Without parts, and without notes whose snapshot is gone.
    fn clean(&self) -> Result<(), Saving> {
        for name in self.names() {
            let alone = name.strip_suffix(NOTE);
            let alone = alone.is_some_and(|id| !self.path.join(format!("{id}{COMPLETE}")).exists());
            if alone || name.ends_with(PART) || name.ends_with(NEW_NOTE) {
                let removed = fs::remove_file(self.path.join(&name));
                removed.map_err(|error| not_written(format!("{FOLDER}/{name}: {error}")))?;
            }
        }
        Ok(())
    }

    /// The complete snapshots.
    pub fn kept(&self) -> Vec<Kept> {
        etcd_snapshots::kept(&self.path)
    }

    /// The bytes of a snapshot.
    pub fn size(&self, id: &UpgradeId) -> u64 {
        let facts = fs::symlink_metadata(self.file(id, COMPLETE));
        facts.map_or(0, |facts| facts.len())
    }

    /// The bytes that are free.
    pub fn free(&self) -> Result<u64, Saving> {
        host::room::free(&self.path).map_err(|error| not_written(error.to_string()))
    }

    /// Removes a snapshot and its note.
    pub fn remove(&self, id: &UpgradeId) -> Result<(), Saving> {
        for end in [COMPLETE, NOTE] {
            let removed = durable::remove(&self.file(id, end));
            removed.map_err(|error| not_written(error.to_string()))?;
        }
        Ok(())
    }

    /// Begins a snapshot of at most so many bytes.
    pub fn begin(&self, id: &UpgradeId, most: u64) -> Result<Part, Saving> {
        Part::create(self.file(id, PART), self.file(id, COMPLETE), most)
    }

    /// Writes what is known of a snapshot beside it.
    ///
    /// A power cut between the two files of a repeated save leaves the note of the earlier one. Its
    /// SHA-256 tells that, and the agent saves again.
    pub fn put_note(&self, id: &UpgradeId, note: &Note<'_>) -> Result<(), Saving> {
        let text = serde_json::to_vec_pretty(note);
        let text = text.map_err(|error| not_written(error.to_string()))?;
        let written = durable::write(&self.file(id, NOTE), &text, 0o600);
        written.map_err(|error| not_written(error.to_string()))
    }

    fn file(&self, id: &UpgradeId, end: &str) -> PathBuf {
        self.path.join(format!("{id}{end}"))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().into_string());
        names.filter_map(Result::ok).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(store: &Store) -> Vec<String> {
        let mut ids: Vec<_> = store.kept().into_iter().map(|one| one.id.into()).collect();
        ids.sort();
        ids
    }

    #[test]
    fn what_is_half_done_goes_and_what_is_complete_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        drop(Store::open(&folder).unwrap());
        let at = |name: &str| folder.path(FOLDER).join(name);
        for name in [
            "a.db",
            "a.json",
            "b.db",
            "c.db.part",
            "d.json",
            "e.json.new",
            "note",
        ] {
            fs::write(at(name), name).unwrap();
        }
        fs::create_dir(at("f.db")).unwrap();
        fs::set_permissions(folder.path(FOLDER), Permissions::from_mode(0o755)).unwrap();
        let store = Store::open(&folder).unwrap();
        for (name, stays) in [
            ("a.db", true),
            ("a.json", true),
            ("b.db", true),
            ("c.db.part", false),
            ("d.json", false),
            ("e.json.new", false),
            ("note", true),
        ] {
            assert_eq!(at(name).exists(), stays, "{name}");
        }
        assert_eq!(ids(&store), ["a", "b"]);
        let mode = folder.path(FOLDER).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        store.remove(&"a".parse().unwrap()).unwrap();
        assert_eq!(ids(&store), ["b"]);
        assert!(!at("a.json").exists());
    }

    #[test]
    fn two_runs_do_not_share_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        let first = Store::open(&folder).unwrap();
        let second = Store::open(&folder).err();
        assert_eq!(second, Some(Saving::Refused(Refusal::Running)));
        drop(first);
        assert!(Store::open(&folder).is_ok());
    }
}
