//! The OS images of the rig: signed OSTree commits in a repository for HTTP, and disks that boot
//! the first of them.
//!
//! The build steps, each cached by the content of its inputs: a Debian root (`root.sh`) → a base
//! tree with one kernel and one Kubernetes (`tree.sh`) → its commit → thin layers on top (our
//! programs, an initramfs, the special files of an image: see [`recipe`]) → the image's commit,
//! signed → a disk (`disk.sh`). A change of our code costs a layer and a commit: seconds. The build
//! needs root. Debian's mirror changes, so an empty cache may give a newer patch level of a
//! package.

mod base;
mod commit;
mod containerfile;
mod disk;
mod followed;
mod initramfs;
mod installer;
mod layer;
mod ours;
mod recipe;
mod repository;
mod signing;

use std::path::PathBuf;

use anyhow::{Context, Result};
use testkit::{cache, debian};

pub use base::kubernetes;
pub use commit::Commit;
pub use disk::DiskKind;
pub use installer::{PodAgent, installer};
pub use ours::programs;

/// Builds an image if necessary and returns its commit. [`names`] lists the images.
///
/// # Errors
///
/// Fails when no image has that name, or a step fails. The step's own output is on standard error.
pub fn ensure_commit(name: &str) -> Result<Commit> {
    let recipe = recipe::find(name).with_context(|| {
        let known: Vec<&str> = names().collect();
        format!("no image {name:?}; there are {}", known.join(", "))
    })?;
    let _lock = cache::lock()?;
    repository::commit(recipe)
}

/// Builds what every image begins with: the Debian root, the container images and our programs.
///
/// # Errors
///
/// Fails when a step fails. Its own output is on standard error.
pub fn prepare() -> Result<()> {
    let _lock = cache::lock()?;
    debian::containers()?;
    programs()?;
    Ok(())
}

/// Builds a disk with image `v1` installed if necessary, and returns its path. The disk is raw and
/// must never be written: use an overlay.
///
/// # Errors
///
/// Fails when a step fails. Its own output is on standard error.
pub fn ensure_disk(kind: DiskKind) -> Result<PathBuf> {
    let first = ensure_commit("v1")?;
    let _lock = cache::lock()?;
    disk::ensure(kind, &first)
}

/// The repository of the images, for serving over HTTP.
///
/// # Errors
///
/// Fails when the cache has no place, or the repository cannot be made.
pub fn repository() -> Result<PathBuf> {
    repository::path()
}

/// The name of every image, the good ones first.
pub fn names() -> impl Iterator<Item = &'static str> {
    recipe::RECIPES.iter().map(|recipe| recipe.name)
}
