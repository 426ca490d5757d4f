//! The kubelet's state, saved before a trial and put back when the old system comes back.
//!
//! /var is one for both systems: the new kubeadm rewrites config.yaml, the new kubelet its checkpoints, and an older kubelet
//! refuses what it does not know (kubernetes issues 86689, 137820). Keys and certificates are never touched: they are renewed
//! meanwhile and the old ones may be void.

mod find;

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, fchown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use upgrade::{Deployment, Phase, Upgrade, UpgradeId};

use crate::error::{At, Error, Result};
use crate::{Places, durable};

/// What is saved on every node; a star stands for any letters in the last part.
const KUBELET: [&str; 5] = [
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
    "/var/lib/kubelet/instance-config.yaml",
    "/var/lib/kubelet/*_manager_state",
    "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
];

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
/// goes: the brain asks for a snapshot only before the first arming, and never again once it is taken.
///
/// # Errors
/// When it is not whole on the disk.
pub fn save(places: &Places, id: &UpgradeId) -> Result<()> {
    let folder = places.snapshot(id);
    durable::make_private_folder(&places.state())?;
    let new = unfinished(&folder);
    remove_tree(&new)?;
    DirBuilder::new()
        .mode(0o700)
        .create(&new)
        .at("making folder", &new)?;
    let sources = sources(places)?;
    let mut files = Vec::new();
    for (number, path) in find::all(&places.root, &sources)?.into_iter().enumerate() {
        files.push(save_file(places, &new, &path, number.to_string())?);
    }
    let index = serde_json::to_vec(&Index {
        format: 1,
        sources,
        files,
    });
    let index = index.map_err(|error| Error::damaged(&new, error.to_string()))?;
    durable::write_plain(&new.join(INDEX), &index, 0o600)?;
    durable::sync_folder(&new)?;
    // A cut here leaves none, which nobody wants back before the arming; the step is begun anew.
    remove_tree(&folder)?;
    durable::rename(&new, &folder)
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
    let may_have_run = match &upgrade.phase {
        Phase::Armed { .. }
        | Phase::Trial { .. }
        | Phase::Healthy { .. }
        | Phase::Reverting { .. }
        | Phase::Halted { .. } => true,
        // Somebody went back from a blessed system by hand.
        Phase::Blessed => true,
        Phase::Accepted | Phase::Fetched | Phase::Verified | Phase::Deployed | Phase::Drained => {
            false
        }
        Phase::Upgraded | Phase::Failed { .. } => false,
    };
    may_have_run && !target_runs
}

/// Puts the state back and removes what did not exist then. What is as it was is not written. Returns how many files changed.
///
/// # Errors
/// The first file that could not be put back; the others are tried all the same.
pub fn restore(places: &Places, id: &UpgradeId) -> Result<usize> {
    let folder = places.snapshot(id);
    let path = folder.join(INDEX);
    let bytes = fs::read(&path).at("reading", &path)?;
    let index: Index =
        serde_json::from_slice(&bytes).map_err(|error| Error::damaged(&path, error.to_string()))?;
    let mut results: Vec<Result<bool>> = index
        .files
        .iter()
        .map(|saved| restore_file(places, &folder, saved))
        .collect();
    for path in find::all(&places.root, &index.sources)? {
        if !index.files.iter().any(|saved| saved.path == path) {
            results.push(durable::remove(&within(&places.root, &path)).map(|()| true));
        }
    }
    results.into_iter().try_fold(0, |changed, result| {
        result.map(|one| changed + usize::from(one))
    })
}

/// Removes the snapshot of an upgrade that is over.
///
/// # Errors
/// When it is still there.
pub fn forget(places: &Places, id: &UpgradeId) -> Result<()> {
    remove_tree(&places.snapshot(id))?;
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
    for folder in ["usr/lib/careen/snapshot.d", "etc/careen/snapshot.d"] {
        sources.extend(find::lists(&places.root.join(folder))?);
    }
    Ok(sources)
}

fn save_file(places: &Places, folder: &Path, path: &str, content: String) -> Result<Saved> {
    let full = within(&places.root, path);
    let meta = fs::metadata(&full).at("asking for", &full)?;
    let bytes = fs::read(&full).at("reading", &full)?;
    durable::write_plain(&folder.join(&content), &bytes, 0o600)?;
    Ok(Saved {
        path: path.to_owned(),
        mode: meta.mode() & 0o7777,
        uid: meta.uid(),
        gid: meta.gid(),
        content,
    })
}

fn restore_file(places: &Places, folder: &Path, saved: &Saved) -> Result<bool> {
    let content = folder.join(&saved.content);
    let wanted = fs::read(&content).at("reading", &content)?;
    let path = within(&places.root, &saved.path);
    if fs::read(&path).is_ok_and(|found| found == wanted) {
        return Ok(false);
    }
    let new = path.with_extension("careen-new");
    let file = durable::write_plain(&new, &wanted, saved.mode)?;
    fchown(&file, Some(saved.uid), Some(saved.gid)).at("giving back", &new)?;
    durable::rename(&new, &path)?;
    Ok(true)
}

fn within(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn remove_tree(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).at("removing", path)
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
