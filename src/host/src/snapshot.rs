//! The kubelet's state, saved before a trial and put back when the old system comes back.
//!
//! /var is one for both systems: the new kubeadm rewrites config.yaml, the new kubelet its checkpoints, and an older kubelet
//! refuses what it does not know (kubernetes issues 86689, 137820). Keys and certificates are never touched: they are renewed
//! meanwhile and the old ones may be void.

mod find;
mod once;
mod owed;
mod tidy;
mod way;

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use upgrade::phase::Class;
use upgrade::{Deployment, Upgrade, UpgradeId};

use crate::error::{At, Error, Result};
use crate::{Places, durable};

pub use once::{begin_anew, is_noted, is_over, note, note_armed};
pub use owed::{Here, Owed, all_owed, is_outstanding, none_is_owed, owe, owe_outstanding, owed};
pub use tidy::keep_only;
use way::{There, Way};

/// What is saved on every node; a star stands for any letters in the last part.
const KUBELET: [&str; 6] = [
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
    "/var/lib/kubelet/instance-config.yaml",
    "/var/lib/kubelet/*_manager_state",
    // allocated_pods_state and actuated_pods_state, from 1.33 on: a kubelet that cannot make one out does not start
    // (pkg/kubelet/allocation/allocation_manager.go).
    "/var/lib/kubelet/*_pods_state",
    "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
];

/// The most that a snapshot takes of the disk that the system itself lies on, in bytes.
const ALL: u64 = 256 << 20;

/// The list of what was saved, within a snapshot.
const INDEX: &str = "index.json";

#[derive(Debug, Serialize, Deserialize)]
struct Index {
    format: u32,
    /// What was looked for: a file found by it at restoring that is not below in `files` is new and goes.
    sources: Vec<String>,
    files: Vec<Saved>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    path: String,
    mode: u32,
    uid: u32,
    gid: u32,
    content: String,
}

/// Saves the state as it is now. What lies there under this id is of a former request, or of a try that was cut short, and
/// goes, and so does that of the trial before: it was put back, and the system has served since.
///
/// # Errors
/// When it is not whole on the disk, or another is owed: what would be saved now is what a trial has left.
pub fn save(places: &Places, id: &UpgradeId) -> Result<()> {
    save_while(places, &Before { id, trials: 0 }, &|| true).map(drop)
}

/// What a snapshot is taken before.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// The upgrade that is to be tried next.
    pub id: &'a UpgradeId,
    /// How many trials it has had.
    pub trials: u32,
}

/// As [`save`], and asks before each file whether it goes on. Returns whether it has come to its end: else nothing of it is left, and
/// what lay there stays.
///
/// # Errors
/// As [`save`].
pub fn save_while(
    places: &Places,
    before: &Before<'_>,
    goes_on: &dyn Fn() -> bool,
) -> Result<bool> {
    none_is_owed(places)?;
    let folder = places.snapshot(before.id);
    durable::make_private_folder(&places.state())?;
    let new = unfinished(&folder);
    remove_tree(&new)?;
    DirBuilder::new()
        .mode(0o700)
        .create(&new)
        .at("making folder", &new)?;
    let Some(index) = fill(places, &new, goes_on)? else {
        return remove_tree(&new).map(|()| false);
    };
    let index = serde_json::to_vec(&index);
    let index = index.map_err(|error| Error::damaged(&new, error.to_string()))?;
    durable::write_plain(&new.join(INDEX), &index, 0o600)?;
    once::nothing_is_due(&new, before.trials)?;
    durable::sync_folder(&new)?;
    // A cut here leaves none, which nobody wants back before the arming; the step is begun anew.
    tidy::remove(&folder)?;
    durable::rename(&new, &folder).map(|()| true)
}

/// Puts what there is to save into a folder; nothing when it was not to go on.
fn fill(places: &Places, folder: &Path, goes_on: &dyn Fn() -> bool) -> Result<Option<Index>> {
    let (way, sources) = (Way::from(&places.root)?, sources(places)?);
    let mut saving = Saving {
        way: &way,
        folder,
        room: ALL,
        files: Vec::new(),
    };
    for path in find::all(&way, &sources)? {
        if !goes_on() {
            return Ok(None);
        }
        saving.take(path)?;
    }
    let files = saving.files;
    let index = Index {
        format: 1,
        sources,
        files,
    };
    Ok(goes_on().then_some(index))
}

/// Whether there is a snapshot of this upgrade.
#[must_use]
pub fn exists(places: &Places, id: &UpgradeId) -> bool {
    places.snapshot(id).join(INDEX).is_file()
}

/// Whether the snapshot must be put back before the kubelet starts: another system than the target runs, and the target may
/// have run since the snapshot was taken.
#[must_use]
pub fn is_wanted(upgrade: &Upgrade, booted: &Deployment) -> bool {
    let target_runs = upgrade.to.as_ref().is_some_and(|to| to.same(booted));
    let may_have_run = match upgrade.phase.class() {
        Class::Trying { .. } | Class::Reverting { .. } | Class::Halted { .. } => true,
        // Somebody went back from a blessed system by hand.
        Class::Blessed => true,
        Class::Preparing | Class::Upgraded | Class::Failed { .. } => false,
    };
    may_have_run && !target_runs
}

/// A snapshot that was read.
#[derive(Debug)]
pub struct Snapshot {
    folder: PathBuf,
    index: Index,
}

/// Reads a snapshot; nothing is put back yet.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn open(places: &Places, id: &UpgradeId) -> Result<Snapshot> {
    let folder = places.snapshot(id);
    let path = folder.join(INDEX);
    let bytes = fs::read(&path).at("reading", &path)?;
    let index =
        serde_json::from_slice(&bytes).map_err(|error| Error::damaged(&path, error.to_string()))?;
    Ok(Snapshot { folder, index })
}

/// Reads a snapshot and puts it back.
///
/// # Errors
/// As [`open`] and [`Snapshot::put_back`].
pub fn restore(places: &Places, id: &UpgradeId) -> Result<usize> {
    open(places, id)?.put_back(places)
}

impl Snapshot {
    /// Puts the state back and removes what did not exist then. What is as it was is not written. Returns how many files changed.
    ///
    /// # Errors
    /// The first file that could not be put back; the others are tried all the same.
    pub fn put_back(&self, places: &Places) -> Result<usize> {
        let way = Way::from(&places.root)?;
        let files = self.index.files.iter();
        let mut results: Vec<Result<bool>> =
            files.map(|saved| self.put_file(&way, saved)).collect();
        match find::all(&way, &self.index.sources) {
            Ok(there) => {
                let new = there.iter().filter(|path| !self.holds(&way, path));
                results.extend(new.map(|path| clear(&way, path)));
            }
            Err(error) => results.push(Err(error)),
        }
        results.into_iter().try_fold(0, |changed, result| {
            result.map(|one| changed + usize::from(one))
        })
    }

    /// Whether a file is one of those that were saved, also by a version that wrote paths down as they are listed.
    fn holds(&self, way: &Way, path: &str) -> bool {
        let mut files = self.index.files.iter();
        files.any(|saved| saved.path == path || way.settled(&saved.path) == path)
    }

    fn put_file(&self, way: &Way, saved: &Saved) -> Result<bool> {
        let content = self.folder.join(&saved.content);
        let wanted = fs::read(&content).at("reading", &content)?;
        let full = way.full(&saved.path);
        let Some(place) = way.place(&saved.path)? else {
            return Err(Error::damaged(&full, "the folder that it lay in is gone"));
        };
        // What is no plain file any more is none that could be as it was, whatever it leads to.
        if let Ok(Some(There::File(file, facts))) = way.look(&saved.path)
            && facts.len() == wanted.len() as u64
            && way::content(file, &facts, &full).is_ok_and(|found| found == wanted)
        {
            // Whoever put it there may have died before its name was on the disk.
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

/// Removes the snapshot of an upgrade that is over.
///
/// # Errors
/// When it is still there.
pub fn forget(places: &Places, id: &UpgradeId) -> Result<()> {
    owed::settle(places, id)?;
    tidy::remove(&places.snapshot(id))?;
    remove_tree(&unfinished(&places.snapshot(id)))
}

/// Where a snapshot is built. An id may hold dots, so this is no extension of it.
fn unfinished(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push("~new");
    PathBuf::from(name)
}

/// The fixed list and what image and operator add to it.
fn sources(places: &Places) -> Result<Vec<String>> {
    let mut sources: Vec<String> = KUBELET.iter().map(|&source| source.to_owned()).collect();
    let folder = |path: &str| places.root.join(path);
    sources.extend(find::lists(&folder("usr/lib/careen/snapshot.d"))?);
    let operators = folder("etc/careen/snapshot.d");
    sources.extend(find::lists_of_the_operator(&operators)?);
    Ok(sources)
}

/// A snapshot that is being made.
struct Saving<'a> {
    way: &'a Way,
    folder: &'a Path,
    /// How much more it may hold, in bytes.
    room: u64,
    files: Vec<Saved>,
}

impl Saving<'_> {
    /// Takes a file in. One that is gone by now, or is none any more, was none.
    fn take(&mut self, path: String) -> Result<()> {
        let full = self.way.full(&path);
        let Some(There::File(file, facts)) = self.way.look(&path)? else {
            return Ok(());
        };
        let bytes = way::content(file, &facts, &full)?;
        let too_much = || {
            let detail = format!(
                "with it the snapshot takes more than {ALL} bytes; list less in snapshot.d"
            );
            Error::damaged(&full, detail)
        };
        let left = self.room.checked_sub(bytes.len() as u64);
        self.room = left.ok_or_else(too_much)?;
        let content = self.files.len().to_string();
        durable::write_plain(&self.folder.join(&content), &bytes, 0o600)?;
        self.files.push(Saved {
            path,
            mode: facts.mode() & 0o7777,
            uid: facts.uid(),
            gid: facts.gid(),
            content,
        });
        Ok(())
    }
}

fn remove_tree(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).at("removing", path)
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
