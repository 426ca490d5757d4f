//! Saving the state before a trial.

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
use crate::{Places, durable};

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
    remove(&folder)?;
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
            let detail =
                format!("with it the snapshot is larger than {ALL} bytes; list less in snapshot.d");
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
