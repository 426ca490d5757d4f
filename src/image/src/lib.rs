//! Wraps an OSTree commit in a container image and pushes it to where nodes can get it. It is the
//! counterpart of `careen-deploy fetch-image`.
//!
//! It runs where images are built, never on a node, and uses skopeo to push.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod destination;
mod layers;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use destination::Destination;
use ostree_ext::chunking::ObjectMetaSized;
use ostree_ext::container::{Config, ExportOpts, encapsulate};
use ostree_ext::gio;
use ostree_ext::ostree::Repo;

/// What to wrap, and where to push it.
#[derive(Debug)]
pub struct Order {
    /// The repository.
    pub repo: PathBuf,
    /// The branch or commit.
    pub revision: String,
    /// The destination.
    pub destination: Destination,
    /// Credentials, in the format of `skopeo login`.
    pub authfile: Option<PathBuf>,
}

/// Wraps and pushes. Returns the value for careen.dev/image.
///
/// # Errors
/// If the repository has no such commit, or skopeo cannot push.
pub fn push(order: &Order) -> Result<String> {
    let repo = open(&order.repo)?;
    let commit = repo
        .require_rev(&order.revision)
        .with_context(|| format!("repository {}", order.repo.display()))?;
    let layers = layers::of(&repo, &commit)?;
    let layers = ObjectMetaSized::compute_sizes(&repo, layers)?;
    let mut options = ExportOpts::default();
    options.authfile.clone_from(&order.authfile);
    options.contentmeta = Some(&layers);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let config = Config::default();
    let target = order.destination.reference();
    let pushed = encapsulate(&repo, &commit, &config, Some(options), &target);
    let digest = runtime.block_on(pushed)?;
    Ok(order.destination.image(digest.as_ref()))
}

fn open(path: &Path) -> Result<Repo> {
    let repo = Repo::new_for_path(path);
    repo.open(None::<&gio::Cancellable>)
        .with_context(|| format!("repository {}", path.display()))?;
    Ok(repo)
}
