//! A deployment's critical files: listed when it is deployed, checked before it is entered.
//!
//! Without composefs nothing else would notice a torn or tampered file. The initramfs checks the
//! files that are needed to boot and to fall back; the others are checked before the kubelet
//! starts. The list comes from the signed commit, not from the disk. So listing reads no files, and
//! the check also finds damage from before the list was written.

mod file;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use upgrade::Digest;

pub use self::file::CriticalFile;
use crate::error::{At, Error, Result};
use crate::{Places, durable};

/// The supported format.
const FORMAT: u32 = 1;

/// What a deployment must consist of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalFiles {
    /// Format of this file; 1.
    #[serde(default = "format")]
    pub format: u32,
    /// The commit that the list comes from.
    pub commit: Digest,
    /// libostree's checksum of kernel and initramfs.
    pub bootcsum: String,
    /// The files.
    pub files: Vec<CriticalFile>,
}

/// Which files to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those needed to boot and to fall back, including kernel and initramfs.
    Boot,
    /// The others.
    Rest,
}

const fn format() -> u32 {
    FORMAT
}

impl CriticalFiles {
    /// Writes the list where the stage reads it.
    ///
    /// # Errors
    /// It is not on the disk.
    pub fn write(&self, places: &Places) -> Result<()> {
        let path = places.critical_files(&self.commit);
        durable::make_private_folder(&places.state())?;
        let text =
            serde_json::to_vec(self).map_err(|error| Error::damaged(&path, error.to_string()))?;
        durable::write(&path, &text, 0o600)
    }

    /// Reads the list of a commit.
    ///
    /// # Errors
    /// There is none, it does not have the accepted form, or it is of another commit.
    pub fn read(places: &Places, commit: &Digest) -> Result<Self> {
        let path = places.critical_files(commit);
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
    /// The first file that has changed, for display.
    pub fn check(&self, root: &Path, which: Which) -> std::result::Result<(), String> {
        let wanted = self
            .files
            .iter()
            .filter(|file| file.boot == (which == Which::Boot));
        wanted.into_iter().try_for_each(|file| file.check(root))
    }
}
