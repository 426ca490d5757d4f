//! Folders of deployments that no menu names, and files in them that cannot be removed. libostree
//! clears the immutable flag only on a deployment's root, so one file with `chattr +i` in an orphan
//! aborts every clean-up (rpm-ostree issue 5594).

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use crate::site::Site;

/// linux/fs.h `FS_IMMUTABLE_FL` and `FS_APPEND_FL`: either flag prevents the removal of a file.
const HOLDING: nix::libc::c_long = 0x10 | 0x20;

mod call {
    // linux/fs.h: FS_IOC_GETFLAGS _IOR('f', 1, long), FS_IOC_SETFLAGS _IOW('f', 2, long).
    nix::ioctl_read!(flags, b'f', 1, nix::libc::c_long);
    nix::ioctl_write_ptr!(set_flags, b'f', 2, nix::libc::c_long);
}

/// The folders of deployments, in all stateroots, that libostree does not list. Killed runs have
/// left them.
pub fn all(site: &Site) -> Vec<PathBuf> {
    let known: Vec<_> = site
        .sysroot
        .deployments()
        .iter()
        .map(|deployment| site.folder(deployment))
        .collect();
    children(&site.path.join("ostree/deploy"))
        .iter()
        .flat_map(|stateroot| children(&stateroot.join("deploy")))
        .filter(|path| is_folder(path) && !known.contains(path))
        .collect()
}

/// Clears the flags of all files in the orphans. A file that cannot be changed fails at its
/// removal.
pub fn make_removable(site: &Site) {
    for orphan in all(site) {
        if let Ok(facts) = orphan.symlink_metadata() {
            release_below(&orphan, facts.dev());
        }
    }
}

/// A mount below belongs to somebody else.
fn release_below(path: &Path, device: u64) {
    let Ok(facts) = path.symlink_metadata() else {
        return;
    };
    if facts.dev() != device || !(facts.is_dir() || facts.is_file()) {
        return;
    }
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path);
    if let Ok(file) = opened {
        drop_flags(&file);
    }
    if facts.is_dir() {
        children(path)
            .iter()
            .for_each(|child| release_below(child, device));
    }
}

#[allow(unsafe_code)]
fn drop_flags(file: &File) {
    let mut flags = 0;
    // SAFETY: the file is open and `flags` outlives the call; the kernel writes no more than a
    // long.
    let known = unsafe { call::flags(file.as_raw_fd(), &raw mut flags) };
    if known.is_err() || flags & HOLDING == 0 {
        return;
    }
    flags &= !HOLDING;
    // SAFETY: as above; the kernel reads only.
    let _ = unsafe { call::set_flags(file.as_raw_fd(), &raw const flags) };
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|facts| facts.is_dir())
}

pub(super) fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
