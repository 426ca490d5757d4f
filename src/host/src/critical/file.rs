//! One critical file, and the check that it is unchanged.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use upgrade::Digest;

use crate::error::{Error, Result};
use crate::{hash, verity};

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalFile {
    /// Its path below the deployment, such as "usr/bin/kubelet".
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// Its object in the signed commit: the SHA-256 of the header and the content.
    pub object: Digest,
    /// What libostree hashes before the content: owner, mode and extended attributes
    /// (ostree-core.c, `_ostree_file_header_new`).
    #[serde(with = "hex::serde")]
    pub header: Vec<u8>,
    /// Needed to boot and to fall back, so the initramfs checks it.
    pub boot: bool,
    /// Its fs-verity digest, if the kernel protects it; then the check need not read the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verity: Option<String>,
}

impl CriticalFile {
    /// Adds its fs-verity digest, if the file in this deployment is sealed.
    #[must_use]
    pub fn as_sealed_in(self, root: &Path) -> Self {
        let file = below(root, &self.path).map(File::open);
        let verity = match file {
            Ok(Ok(file)) => verity::measure(&file),
            _ => None,
        };
        Self { verity, ..self }
    }

    /// Checks the file.
    ///
    /// # Errors
    /// The difference, for display.
    pub(super) fn check(&self, root: &Path) -> std::result::Result<(), String> {
        let full = below(root, &self.path).map_err(|error| error.to_string())?;
        let bad = |detail: String| format!("/{}: {detail}", self.path);
        let mut file = File::open(&full).map_err(|error| bad(error.to_string()))?;
        let facts = file.metadata().map_err(|error| bad(error.to_string()))?;
        if facts.len() != self.size {
            return Err(bad(format!(
                "{} bytes instead of {}",
                facts.len(),
                self.size
            )));
        }
        if self.verity.is_some() && verity::measure(&file) == self.verity {
            return Ok(());
        }
        let found = hash::of(&self.header, [&mut file]).map_err(|error| bad(error.to_string()))?;
        if found == self.object.as_str() {
            Ok(())
        } else {
            Err(bad("its content has changed".to_owned()))
        }
    }
}

/// The list is data, so its paths must not lead out of the deployment.
fn below(root: &Path, path: &str) -> Result<PathBuf> {
    let relative = Path::new(path);
    if relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        Ok(root.join(relative))
    } else {
        Err(Error::damaged(
            relative,
            "a path in a manifest must be below the deployment",
        ))
    }
}
