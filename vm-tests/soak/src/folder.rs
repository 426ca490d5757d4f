//! The folders and files of a run.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rig::images::{self, DiskKind};
use rig::joined::Joined;
use testkit::cache::Key;
use testkit::programs::out;

use super::cut::Cut;
use super::record::Files;
use super::way::Way;

/// The folder of all runs, of any build.
#[must_use]
pub fn all_runs() -> PathBuf {
    out().join("soak")
}

/// The folder of a run. A recording belongs to one joined node, two images and one build. If any of
/// them changes, a new recording is necessary, and an earlier report does not apply to these
/// programs.
///
/// # Errors
///
/// Fails when an image does not build, or the programs cannot be read.
pub fn folder(programs: &Path) -> Result<PathBuf> {
    let mut key = Key::default().text(Joined::identity(DiskKind::Bios)?);
    for way in Way::ALL {
        let commit = images::ensure_commit(way.image())?;
        key = key.text(commit.digest).text(way.policy());
    }
    Ok(all_runs().join(key.files(programs)?.digits()))
}

/// The files of one way's recording.
#[must_use]
pub fn files(folder: &Path, way: Way) -> Files {
    Files::in_folder(&folder.join(way.name()))
}

/// The folder of one cut's machine, and the disk that it starts from.
#[must_use]
pub fn place_of(folder: &Path, cut: &Cut) -> (PathBuf, PathBuf) {
    let name = |end: &str| folder.join(format!("cut-{}-{}{end}", cut.plan, cut.index));
    (name(""), name(".raw"))
}
