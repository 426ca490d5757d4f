//! Freezes a file system for a moment, so that the boot loader, which replays no journal, sees what
//! was written.
//!
//! A system whose root stays frozen hangs forever. A child process thaws it if this process dies in
//! between (libostree has such a child too, ostree_sysroot_deploy.c `fsfreeze_thaw_cycle`).
//! [`thaw_left_over`] is for a program that starts after a crash. Other programs also freeze file
//! systems, for a backup or a disk snapshot. So a run that may leave one frozen leaves a mark, and
//! without the mark nothing is thawed.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe};

use upgrade::names;

use crate::durable;
use crate::error::{At, Result};

mod call {
    // linux/fs.h: FIFREEZE _IOWR('X', 119, int), FITHAW _IOWR('X', 120, int); the kernel ignores
    // the argument.
    nix::ioctl_readwrite!(freeze, b'X', 119, nix::libc::c_int);
    nix::ioctl_readwrite!(thaw, b'X', 120, nix::libc::c_int);
}

/// How long the child waits for this process, in milliseconds. A freeze first writes out all dirty
/// data.
const PATIENCE: nix::libc::c_int = 60_000;

/// Writes everything out, including the journal, by freezing and thawing the file system of `path`.
///
/// # Errors
/// It could not be frozen. A file system without support for that (vfat) is synced instead.
pub fn checkpoint(path: &Path) -> Result<()> {
    let folder = File::open(path).at("opening", path)?;
    nix::unistd::syncfs(&folder).at("syncing the file system of", path)?;
    let keeper = Keeper::start(&folder).at("guarding", path)?;
    let frozen = freeze_now(folder.as_raw_fd());
    let thawed = if frozen.is_ok() {
        thaw_now(folder.as_raw_fd())
    } else {
        Ok(())
    };
    keeper.end();
    // EINVAL: another process, which thaws after a crash, was faster.
    match thawed {
        Err(Errno::EINVAL) => Ok(()),
        other => other.at("thawing", path),
    }?;
    match frozen {
        Err(Errno::EOPNOTSUPP | Errno::ENOTTY | Errno::EBUSY | Errno::EPERM) => Ok(()),
        other => other.at("freezing", path),
    }
}

/// The mark of a run that may leave something frozen, until it is dropped. It is below /run: no
/// freeze outlives a boot.
#[derive(Debug)]
pub struct Mark(PathBuf);

impl Mark {
    /// Leaves the mark on the system below `root`.
    ///
    /// # Errors
    /// There is no mark; then nothing may be frozen.
    pub fn leave(root: &Path) -> Result<Self> {
        let path = mark(root);
        if let Some(folder) = path.parent() {
            durable::make_private_folder(folder)?;
        }
        File::create(&path).at("creating", &path)?;
        Ok(Self(path))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // A mark that stays only makes the next program check.
        let _ = fs::remove_file(&self.0);
    }
}

/// The path of the mark on the system below `root`. Without a mark there is no need to start a
/// program to thaw.
#[must_use]
pub fn mark(root: &Path) -> PathBuf {
    let run = names::RUN_DIR.trim_start_matches('/');
    root.join(run).join("freezing")
}

/// Thaws these places after a run that has ended and may have left them frozen. What other programs
/// have frozen stays frozen.
///
/// # Errors
/// The first place that may still be frozen.
pub fn thaw_left_over(root: &Path, places: &[&Path]) -> Result<()> {
    thaw_marked(root, places)?;
    durable::remove(&mark(root))
}

/// Like [`thaw_left_over`], for a caller that cannot tell whether that run has ended. The mark
/// stays for the thaw after its end.
///
/// # Errors
/// As [`thaw_left_over`].
pub fn thaw_marked(root: &Path, places: &[&Path]) -> Result<()> {
    if !mark(root).exists() {
        return Ok(());
    }
    let thawed: Vec<_> = places.iter().map(|place| thaw(place)).collect();
    thawed.into_iter().collect()
}

/// Thaws the file system of `path`; does nothing if it is not frozen.
///
/// # Errors
/// It may still be frozen.
pub fn thaw(path: &Path) -> Result<()> {
    let folder = File::open(path).at("opening", path)?;
    match thaw_now(folder.as_raw_fd()) {
        // The kernel returns EINVAL for a file system that is not frozen.
        Err(Errno::EINVAL | Errno::EOPNOTSUPP | Errno::ENOTTY) => Ok(()),
        other => other.at("thawing", path),
    }
}

#[expect(
    unsafe_code,
    reason = "nix has no safe wrapper; the argument is a valid pointer that the kernel ignores"
)]
fn freeze_now(folder: RawFd) -> nix::Result<()> {
    let mut unused = 0;
    // SAFETY: `unused` outlives the call and the file is open.
    unsafe { call::freeze(folder, &raw mut unused) }.map(drop)
}

#[expect(
    unsafe_code,
    reason = "nix has no safe wrapper; the argument is a valid pointer that the kernel ignores"
)]
fn thaw_now(folder: RawFd) -> nix::Result<()> {
    let mut unused = 0;
    // SAFETY: as above.
    unsafe { call::thaw(folder, &raw mut unused) }.map(drop)
}

/// The child that thaws if this process cannot.
struct Keeper {
    child: Pid,
    alive: std::os::fd::OwnedFd,
}

impl Keeper {
    #[expect(
        unsafe_code,
        reason = "fork: the child makes nothing but async-signal-safe calls"
    )]
    fn start(folder: &File) -> nix::Result<Self> {
        let (ours, alive) = pipe()?;
        let (folder, ours_raw, alive_raw) =
            (folder.as_raw_fd(), ours.as_raw_fd(), alive.as_raw_fd());
        // SAFETY: between fork and _exit the child only closes, polls and thaws: no allocation, no
        // lock.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Self { child, alive }),
            ForkResult::Child => unsafe {
                nix::libc::close(alive_raw);
                let mut wait = nix::libc::pollfd {
                    fd: ours_raw,
                    events: nix::libc::POLLIN,
                    revents: 0,
                };
                nix::libc::poll(&raw mut wait, 1, PATIENCE);
                let mut unused = 0;
                let _ = call::thaw(folder, &raw mut unused);
                nix::libc::_exit(0)
            },
        }
    }

    /// Releases the child. It thaws once more, which does nothing, and exits.
    fn end(self) {
        drop(self.alive);
        let _ = waitpid(self.child, None);
    }
}
