//! Saves the state before a trial.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use upgrade::UpgradeId;

use super::folders::{remove, remove_tree, unfinished};
use super::index::{INDEX, Index, Saved};
use super::owed::none_is_owed;
use super::way::{self, There, Way};
use super::{find, once};
use crate::error::{At, Error, Result};
use crate::{Places, durable, room};

/// What is saved on every node; `*` in the last part matches any characters.
const KUBELET: [&str; 6] = [
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
    "/var/lib/kubelet/instance-config.yaml",
    "/var/lib/kubelet/*_manager_state",
    // allocated_pods_state and actuated_pods_state exist from 1.33 on. A kubelet that cannot parse
    // one does not start (pkg/kubelet/allocation/allocation_manager.go).
    "/var/lib/kubelet/*_pods_state",
    "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
];

/// The most that a snapshot may take of the system's own disk, in bytes.
const ALL: u64 = 256 << 20;

/// Saves the current state. A snapshot that already has this id is from an earlier request or an
/// interrupted attempt, and is replaced. So is the one from the previous trial: it was restored,
/// and the system has served since.
///
/// # Errors
/// The snapshot is not complete on the disk; or another one is owed, because the current state is
/// then what a trial left.
pub fn save(places: &Places, id: &UpgradeId) -> Result<()> {
    save_while(places, &Before { id, trials: 0 }, &|| true).map(drop)
}

/// What the snapshot is taken before.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// The upgrade whose trial is next.
    pub id: &'a UpgradeId,
    /// How many trials it has had.
    pub trials: u32,
}

/// Like [`save`], but calls the closure before each file and stops if it returns false. Returns
/// whether it finished. If it did not, it leaves nothing behind, and the earlier snapshot stays.
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
    // A power cut here leaves no snapshot. None is needed before the arming, and the step is
    // repeated.
    remove(&folder)?;
    durable::rename(&new, &folder).map(|()| true)
}

/// Looks whether the current state fits the limits of a snapshot and the disk, and writes nothing.
/// What is listed may grow with every pod, so only a look before the drain tells it in time.
///
/// # Errors
/// [`save`] would fail.
pub fn rehearse(places: &Places) -> Result<()> {
    let (way, sources) = (Way::from(&places.root)?, sources(places)?);
    let mut left = ALL;
    for path in find::all(&way, &sources)? {
        if let Some(There::File(_, facts)) = way.look(&path)? {
            let full = way.full(&path);
            way::is_state(facts.len(), &full)?;
            left = take_room(left, facts.len(), &full)?;
        }
    }
    let need = ALL - left;
    match room::free(&places.sysroot) {
        Ok(free) if need > free => {
            let detail = format!("a snapshot needs {need} bytes there, and {free} are free");
            Err(Error::damaged(&places.sysroot, detail))
        }
        // An unknown room is no lack of it: the snapshot itself tells that.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The room that is left after a file.
fn take_room(left: u64, length: u64, full: &Path) -> Result<u64> {
    left.checked_sub(length).ok_or_else(|| {
        let detail =
            format!("with it the snapshot is larger than {ALL} bytes; list less in snapshot.d");
        Error::damaged(full, detail)
    })
}

/// Saves the files into a folder; `None` if it was told to stop.
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

/// The fixed list, and what the image and the operator add to it.
fn sources(places: &Places) -> Result<Vec<String>> {
    let mut sources: Vec<String> = KUBELET.iter().map(|&source| source.to_owned()).collect();
    let folder = |path: &str| places.root.join(path);
    sources.extend(find::lists(&folder("usr/lib/careen/snapshot.d"))?);
    let operators = folder("etc/careen/snapshot.d");
    sources.extend(find::lists_of_the_operator(&operators)?);
    Ok(sources)
}

/// A snapshot in progress.
struct Saving<'a> {
    way: &'a Way,
    folder: &'a Path,
    /// The room left, in bytes.
    room: u64,
    files: Vec<Saved>,
}

impl Saving<'_> {
    /// Saves one file. A file that is gone, or is no longer a regular file, is skipped.
    fn take(&mut self, path: String) -> Result<()> {
        let full = self.way.full(&path);
        let Some(There::File(file, facts)) = self.way.look(&path)? else {
            return Ok(());
        };
        let bytes = way::content(file, &facts, &full)?;
        self.room = take_room(self.room, bytes.len() as u64, &full)?;
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
