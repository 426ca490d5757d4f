//! A folder that is laid over a tree in a commit.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder. Its paths are relative to the root of the image. A node's /etc is `usr/etc` here.
pub struct Layer(PathBuf);

impl Layer {
    /// An empty layer at `path`.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be made.
    pub fn new(path: &Path) -> Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self(path.to_owned()))
    }

    /// Copies a file into it with its mode.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be read or written.
    pub fn copy(&self, from: &Path, to: &str) -> Result<()> {
        let to = self.place(to)?;
        fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        Ok(())
    }

    /// Copies a file, or a folder with its whole content.
    ///
    /// # Errors
    ///
    /// Fails when something cannot be read or written.
    pub fn copy_all(&self, from: &Path, to: &str) -> Result<()> {
        if from.is_file() {
            return self.copy(from, to);
        }
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let to = format!("{to}/{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.copy_all(&entry.path(), &to)?;
            } else if kind.is_symlink() {
                self.link(&to, &fs::read_link(entry.path())?.to_string_lossy())?;
            } else {
                self.copy(&entry.path(), &to)?;
            }
        }
        Ok(())
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be written.
    pub fn write(&self, to: &str, content: &str, mode: u32) -> Result<()> {
        let to = self.place(to)?;
        fs::write(&to, content)?;
        Ok(fs::set_permissions(to, Permissions::from_mode(mode))?)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be made.
    pub fn link(&self, at: &str, target: &str) -> Result<()> {
        Ok(symlink(target, self.place(at)?)?)
    }

    fn place(&self, relative: &str) -> Result<PathBuf> {
        let path = self.0.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(path)
    }
}
