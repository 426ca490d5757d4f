//! Makes read-only mounts writable, visible only to this process.

use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};

use crate::error::{At, Result};

const NONE: Option<&str> = None;

/// Gives this process its own mount namespace. Call it before any thread starts: a thread keeps the
/// namespace it was created in.
///
/// # Errors
/// The process lacks the right to do so (CAP_SYS_ADMIN).
pub fn make_private() -> Result<()> {
    let root = Path::new("/");
    unshare(CloneFlags::CLONE_NEWNS).at("unsharing the mounts of", root)?;
    // Slave, not private: mounts that the system makes later still propagate to this process.
    mount(NONE, root, NONE, MsFlags::MS_REC | MsFlags::MS_SLAVE, NONE)
        .at("separating the mounts of", root)
}

/// Makes a read-only mount writable in this mount namespace; the file system itself does not
/// change.
///
/// # Errors
/// `path` is not a mount point, or its file system is read-only.
pub fn make_writable(path: &Path) -> Result<()> {
    let flags = flags_of(path)?;
    if !flags.contains(MsFlags::MS_RDONLY) {
        return Ok(());
    }
    let flags = (flags - MsFlags::MS_RDONLY) | MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    mount(NONE, path, NONE, flags, NONE).at("making writable", path)
}

/// A file system that is writable until this is dropped. For the initramfs, where the mount itself
/// is read-only.
#[derive(Debug)]
pub struct Writable<'a> {
    path: &'a Path,
    restore: Option<MsFlags>,
}

impl<'a> Writable<'a> {
    /// Remounts the file system of `path` read-write, unless it already is.
    ///
    /// # Errors
    /// The system call failed.
    pub fn make(path: &'a Path) -> Result<Self> {
        let flags = flags_of(path)?;
        if !flags.contains(MsFlags::MS_RDONLY) {
            return Ok(Self {
                path,
                restore: None,
            });
        }
        let wanted = (flags - MsFlags::MS_RDONLY) | MsFlags::MS_REMOUNT;
        mount(NONE, path, NONE, wanted, NONE).at("remounting read-write", path)?;
        Ok(Self {
            path,
            restore: Some(flags | MsFlags::MS_REMOUNT),
        })
    }
}

impl Drop for Writable<'_> {
    fn drop(&mut self) {
        if let Some(flags) = self.restore {
            // What was written is already synced. If the mount stays writable, that is what the
            // real root gets anyway.
            let _ = mount(NONE, self.path, NONE, flags, NONE);
        }
    }
}

/// The flags that a remount must repeat to keep them.
fn flags_of(path: &Path) -> Result<MsFlags> {
    let found = statvfs(path).at("asking for the mount of", path)?.flags();
    let pairs = [
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_SYNCHRONOUS, MsFlags::MS_SYNCHRONOUS),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let set = pairs
        .into_iter()
        .filter(|(flag, _)| found.contains(*flag))
        .map(|(_, flag)| flag);
    Ok(set.collect())
}
