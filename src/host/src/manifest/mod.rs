//! A deployment's critical files: listed when it is deployed, checked before it is entered.
//!
//! Without composefs nothing else would notice a torn or tampered file. What is needed to boot and to fall back is checked in
//! the initramfs, the rest before the kubelet starts. The list is taken from the signed commit, not from the disk: so nothing is read
//! for it, and what was damaged before it was written is found all the same.

mod file;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use upgrade::Digest;

pub use self::file::CriticalFile;
use crate::error::{At, Error, Result};
use crate::{Places, durable};

/// The format that is written and read.
const FORMAT: u32 = 1;

/// What a deployment must consist of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of this file; 1.
    #[serde(default = "format")]
    pub format: u32,
    /// The commit it was read from.
    pub commit: Digest,
    /// libostree's checksum of kernel and initramfs.
    pub bootcsum: String,
    /// The files.
    pub files: Vec<CriticalFile>,
}

/// Which files to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those needed to boot and to fall back, kernel and initramfs among them.
    Boot,
    /// The others.
    Rest,
}

const fn format() -> u32 {
    FORMAT
}

impl Manifest {
    /// Writes it where the stage looks for it.
    ///
    /// # Errors
    /// When it is not on the disk.
    pub fn write(&self, places: &Places) -> Result<()> {
        let path = places.manifest(&self.commit);
        durable::make_private_folder(&places.state())?;
        let text =
            serde_json::to_vec(self).map_err(|error| Error::damaged(&path, error.to_string()))?;
        durable::write(&path, &text, 0o600)
    }

    /// Reads the manifest of a commit.
    ///
    /// # Errors
    /// When there is none, or it is not of the accepted form, or another commit's.
    pub fn read(places: &Places, commit: &Digest) -> Result<Self> {
        let path = places.manifest(commit);
        let bytes = fs::read(&path).at("reading", &path)?;
        let found: Self = serde_json::from_slice(&bytes)
            .map_err(|error| Error::damaged(&path, error.to_string()))?;
        if found.format != FORMAT {
            return Err(Error::damaged(
                &path,
                format!("format is {}; this version reads {FORMAT}", found.format),
            ));
        }
        if found.commit != *commit {
            return Err(Error::damaged(
                &path,
                format!("it is of commit {}", found.commit),
            ));
        }
        Ok(found)
    }

    /// Checks files of the deployment in `root`.
    ///
    /// # Errors
    /// The first file that is not what it was, for a person.
    pub fn check(&self, root: &Path, which: Which) -> std::result::Result<(), String> {
        let wanted = self
            .files
            .iter()
            .filter(|file| file.boot == (which == Which::Boot));
        wanted.into_iter().try_for_each(|file| file.check(root))
    }
}
