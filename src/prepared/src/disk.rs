//! Changes of the disk. Each is complete and flushed when its function returns, or was not made.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown, symlink};
use std::path::Path;

use host::durable;

use crate::error::{At, Error, Result, if_there};

/// The owner and the mode of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Owner {
    /// The user's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
    /// The mode.
    pub mode: u32,
}

impl Owner {
    /// Root, with this mode.
    #[must_use]
    pub const fn root(mode: u32) -> Self {
        Self {
            user: 0,
            group: 0,
            mode,
        }
    }
}

/// The changes that careen-host makes. Tests cut the power before, within and after each.
pub trait Disk {
    /// Writes a whole file in the place of what is there.
    ///
    /// # Errors
    /// The content may not be on the disk.
    fn write(&self, path: &Path, content: &[u8], owner: Owner) -> Result<()>;
    /// Makes a link in the place of what is there.
    ///
    /// # Errors
    /// The link may not be on the disk.
    fn link(&self, path: &Path, target: &Path) -> Result<()>;
    /// Renames a file or folder within a file system.
    ///
    /// # Errors
    /// The new name may not be on the disk.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file or a link, if it is there.
    ///
    /// # Errors
    /// It may still be there.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Makes one folder.
    ///
    /// # Errors
    /// It may not be on the disk.
    fn make_folder(&self, path: &Path, owner: Owner) -> Result<()>;
    /// Removes a folder if it is empty.
    ///
    /// # Errors
    /// It may still be there, as it is if it is not empty.
    fn remove_folder(&self, path: &Path) -> Result<()>;
    /// Copies a folder with all below it to a path that does not exist yet.
    ///
    /// # Errors
    /// The copy may not be complete.
    fn copy(&self, from: &Path, to: &Path) -> Result<()>;
}

/// Makes a folder and those above it, for all to read.
///
/// # Errors
/// One may not be on the disk.
pub fn make_folders(disk: &dyn Disk, path: &Path) -> Result<()> {
    let missing: Vec<_> = path.ancestors().take_while(|path| !path.is_dir()).collect();
    for folder in missing.into_iter().rev() {
        disk.make_folder(folder, Owner::root(0o755))?;
    }
    Ok(())
}

/// Writes a value that only root may read.
///
/// # Errors
/// It may not be on the disk.
pub fn write_json(disk: &dyn Disk, path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_vec(value);
    let text = text.map_err(|error| Error::unusable(path, error.to_string()))?;
    disk.write(path, &text, Owner::root(0o600))
}

/// The disk itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnDisk;

impl Disk for OnDisk {
    fn write(&self, path: &Path, content: &[u8], owner: Owner) -> Result<()> {
        let beside = beside(path);
        remove_plain(&beside)?;
        // Nobody reads it before it has its owner and mode.
        let mut file = fs::OpenOptions::new();
        let file = file.write(true).create_new(true);
        let mut file = std::os::unix::fs::OpenOptionsExt::mode(file, 0o600)
            .open(&beside)
            .at("creating", &beside)?;
        std::io::Write::write_all(&mut file, content).at("writing", &beside)?;
        dress(&beside, owner)?;
        file.sync_all().at("flushing", &beside)?;
        Ok(durable::rename(&beside, path)?)
    }

    fn link(&self, path: &Path, target: &Path) -> Result<()> {
        let beside = beside(path);
        remove_plain(&beside)?;
        symlink(target, &beside).at("linking", &beside)?;
        Ok(durable::rename(&beside, path)?)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        Ok(durable::rename(from, to)?)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        remove_plain(path)?;
        sync_parent(path)
    }

    fn make_folder(&self, path: &Path, owner: Owner) -> Result<()> {
        DirBuilder::new()
            .mode(0o700)
            .create(path)
            .at("making folder", path)?;
        dress(path, owner)?;
        sync_parent(path)
    }

    fn remove_folder(&self, path: &Path) -> Result<()> {
        if_there(fs::remove_dir(path), "removing", path)?;
        sync_parent(path)
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        Ok(host::kubernetes::copy(from, to)?)
    }
}

fn remove_plain(path: &Path) -> Result<()> {
    if_there(fs::remove_file(path), "removing", path).map(drop)
}

/// The owner comes first: a change of owner clears bits of the mode (chown(2)).
fn dress(path: &Path, owner: Owner) -> Result<()> {
    lchown(path, Some(owner.user), Some(owner.group)).at("changing the owner of", path)?;
    fs::set_permissions(path, Permissions::from_mode(owner.mode)).at("changing the mode of", path)
}

fn sync_parent(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) if parent.is_dir() => Ok(durable::sync_folder(parent)?),
        Some(_) | None => Ok(()),
    }
}

/// The name of a file until it is complete. Cleaning removes one that a power cut left.
#[must_use]
pub fn beside(path: &Path) -> std::path::PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".careen-new");
    path.with_file_name(name)
}
