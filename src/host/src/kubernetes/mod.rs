//! /etc/kubernetes of a control plane, and the one copy that all deployments can share.
//!
//! libostree gives each deployment an /etc of its own. A system that falls back would start older
//! manifests on the data of a newer etcd, so a control plane needs one /etc/kubernetes for all
//! deployments. It is in /var, and mounted over the folder of the deployment that runs.

mod below;
mod copy;
mod users;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use upgrade::{Deployment, names};

use crate::Places;
use crate::error::{At, Result};

pub use below::clear;
pub use copy::{copy, is_same};
pub use users::{User, users};

/// Where this node's /etc/kubernetes is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In the deployment, so that another deployment has another one.
    Own,
    /// In the shared folder, which is mounted.
    Shared {
        /// What the deployment's own folder, below the mount, still has.
        below: Vec<String>,
    },
    /// Elsewhere: another file system or folder is mounted there.
    Foreign,
}

/// The folder that the kubelet reads.
#[must_use]
pub fn folder(root: &Path) -> PathBuf {
    below_root(root, names::KUBERNETES)
}

/// The folder that all deployments share.
#[must_use]
pub fn shared(root: &Path) -> PathBuf {
    below_root(root, names::SHARED_KUBERNETES)
}

/// The deployment's own folder. A mount on /etc/kubernetes does not hide it here.
#[must_use]
pub fn own(places: &Places, booted: &Deployment) -> PathBuf {
    let etc = places.deployment(booted).join("etc");
    etc.join(names::KUBERNETES.trim_start_matches("/etc/"))
}

/// Where /etc/kubernetes of the running system is.
///
/// # Errors
/// /etc/kubernetes or the deployment's own folder cannot be read.
pub fn kept(places: &Places, booted: &Deployment) -> Result<Kept> {
    let seen = identity(&folder(&places.root))?;
    let own = own(places, booted);
    if is_at(&own, seen) {
        return Ok(Kept::Own);
    }
    if !is_at(&shared(&places.root), seen) {
        return Ok(Kept::Foreign);
    }
    let below = below::names(&own)?;
    Ok(Kept::Shared { below })
}

/// Two paths to one folder have the same device and inode, also through a bind mount.
type Identity = (u64, u64);

fn identity(path: &Path) -> Result<Identity> {
    let facts = fs::metadata(path).at("looking at", path)?;
    Ok((facts.dev(), facts.ino()))
}

fn is_at(path: &Path, wanted: Identity) -> bool {
    identity(path).is_ok_and(|found| found == wanted)
}

fn below_root(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}
