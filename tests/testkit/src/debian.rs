//! The Debian that images and containers begin with, made once into the cache.

use std::path::PathBuf;

use anyhow::Result;

use crate::cache::{Key, built};
use crate::script::{beside, script, step};

/// The bootstrapped Debian.
///
/// # Errors
///
/// Fails when mmdebstrap fails.
pub fn root() -> Result<PathBuf> {
    let key = Key::default()
        .files(&beside("root.sh"))?
        .files(&beside("packages.txt"))?;
    built("root", &key, |out| {
        step("Debian root (about a minute)", || script("root.sh", &[out]))
    })
}

/// The images of what runs in pods, as an archive for containerd.
///
/// # Errors
///
/// Fails when it cannot be made.
pub fn containers() -> Result<PathBuf> {
    let root = root()?;
    let key = Key::default().files(&beside("containers.sh"))?.built(&root);
    built("containers", &key, |out| {
        step("container images", || {
            script("containers.sh", &[&root.join("bin/busybox"), out])
        })
    })
}
