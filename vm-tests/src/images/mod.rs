//! The OS images of the rig: signed OSTree commits in a repository for HTTP, and disks that boot the first of them.
//!
//! From the bottom up, each step cached by the content of what goes into it: a Debian root (`root.sh`) → a base tree with one kernel and
//! one Kubernetes (`tree.sh`) → its commit → thin layers on top (our programs, an initramfs, what makes an image special: see
//! [`recipe`]) → the image's commit, signed → a disk (`disk.sh`). A change of our code costs a layer and a commit: seconds.
//! Needs root. Debian's mirror moves on, so an empty cache may give a newer patch level of a package.

mod base;
mod cache;
mod containerfile;
mod disk;
mod followed;
mod initramfs;
mod installer;
mod layer;
mod ours;
mod recipe;
mod repository;
mod script;
mod signing;

use std::path::PathBuf;

use anyhow::{Context, Result};

pub use base::{containers, kubernetes, root};
pub use cache::Key;
pub use disk::DiskKind;
pub use installer::{PodAgent, installer};
pub use ours::{careen_image, programs};

/// An image in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The ref that names it, the same as the image's name.
    pub reference: String,
    /// The commit's checksum, 64 hexadecimal digits.
    pub digest: String,
}

impl Commit {
    /// The value for the annotation `careen.dev/image`.
    #[must_use]
    pub fn pinned(&self) -> String {
        format!("ostree:careen:{}@{}", self.reference, self.digest)
    }
}

/// Builds an image unless it is there, and gives its commit. [`names`] lists them.
///
/// # Errors
/// When there is no image of that name, or a step fails; the step's own output went to standard error.
pub fn ensure_commit(name: &str) -> Result<Commit> {
    let recipe = recipe::find(name).with_context(|| {
        let known: Vec<&str> = names().collect();
        format!("no image {name:?}; there are {}", known.join(", "))
    })?;
    let _lock = cache::lock()?;
    repository::commit(recipe)
}

/// Builds a disk with image `v1` installed unless it is there, and gives its path (raw, never to be written: put an overlay on it).
///
/// # Errors
/// When a step fails; its own output went to standard error.
pub fn ensure_disk(kind: DiskKind) -> Result<PathBuf> {
    let first = ensure_commit("v1")?;
    let _lock = cache::lock()?;
    disk::ensure(kind, &first)
}

/// The repository that the images lie in, for serving over HTTP.
///
/// # Errors
/// When the cache has no place, or the repository cannot be made.
pub fn repository() -> Result<PathBuf> {
    repository::path()
}

/// Every image's name, the good ones first.
pub fn names() -> impl Iterator<Item = &'static str> {
    recipe::RECIPES.iter().map(|recipe| recipe.name)
}
