//! A build cache keyed by the content of the inputs. The same inputs are never built twice, and
//! different inputs never share a result.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::programs;

/// How many generations of one thing stay. A machine of a parallel run may still have the last one
/// open.
const KEPT: usize = 2;

/// A hash over inputs in the order they are added.
#[derive(Clone, Default)]
pub struct Key(Sha256);

impl Key {
    /// Adds a word, or the path of something that the cache already keys by content.
    pub fn text(mut self, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }

    /// Adds the path of something built, whose name contains its own key.
    pub fn built(self, path: &Path) -> Self {
        self.text(path.as_os_str().as_bytes())
    }

    /// Adds a file or a folder: names, modes, link targets and contents.
    ///
    /// # Errors
    ///
    /// Fails when something in it cannot be read.
    pub fn files(self, path: &Path) -> Result<Self> {
        self.entry(path)
            .with_context(|| format!("cannot read {}", path.display()))
    }

    fn entry(self, path: &Path) -> Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        let mode = metadata.permissions().mode().to_le_bytes();
        let key = self
            .text(path.file_name().unwrap_or_default().as_bytes())
            .text(mode);
        if metadata.is_symlink() {
            return Ok(key.built(&fs::read_link(path)?));
        }
        if metadata.is_file() {
            return Ok(key.text(fs::read(path)?));
        }
        sorted(path)?
            .iter()
            .try_fold(key, |key, child| key.entry(child))
    }

    /// The key, in 16 digits.
    pub fn digits(&self) -> String {
        let digest = self.0.clone().finalize();
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// Returns the cached thing `name` for `key`. If it is missing, `make` creates it at the path that
/// it gets.
///
/// # Errors
///
/// Returns the error of `make`; nothing is kept then.
pub fn built(name: &str, key: &Key, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let dir = dir()?;
    let done = dir.join(format!("{name}-{}", key.digits()));
    if done.exists() {
        return Ok(done);
    }
    let part = dir.join(format!("new-{name}"));
    remove(&part)?;
    make(&part)?;
    fs::rename(&part, &done)?;
    drop_old(&dir, name)?;
    Ok(done)
}

/// The folder of this cache.
///
/// # Errors
///
/// Fails when it cannot be made.
pub fn dir() -> Result<PathBuf> {
    let dir = programs::cache()?.join("images");
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Ok(dir)
}

/// Allows one builder at a time. Parallel runs wait for each other and find the result. Dropping it
/// unlocks.
///
/// # Errors
///
/// Fails when the lock file cannot be had.
pub fn lock() -> Result<File> {
    let path = dir()?.join("lock");
    let file = File::create(&path).with_context(|| format!("cannot open {}", path.display()))?;
    file.lock()?;
    Ok(file)
}

fn drop_old(dir: &Path, name: &str) -> Result<()> {
    let mut found = Vec::new();
    for path in sorted(dir)? {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let digits = file
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'));
        if digits.is_some_and(|digits| digits.len() == 16 && !digits.contains('-')) {
            found.push((fs::symlink_metadata(&path)?.modified()?, path));
        }
    }
    found.sort();
    found.reverse();
    found
        .iter()
        .skip(KEPT)
        .try_for_each(|(_, path)| remove(path))
}

fn remove(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(metadata) if metadata.is_dir() => Ok(fs::remove_dir_all(path)?),
        Ok(_) => Ok(fs::remove_file(path)?),
    }
}

fn sorted(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(dir)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
