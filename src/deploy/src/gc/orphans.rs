//! Folders of deployments that no menu names, and what in them resists: libostree takes the immutable flag off a
//! deployment's root alone, so one file with `chattr +i` in an orphan ends every clean-up (rpm-ostree issue 5594).

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use upgrade::names;

use crate::site::Site;

/// linux/fs.h `FS_IMMUTABLE_FL` and `FS_APPEND_FL`: either keeps a file from being removed.
const HOLDING: nix::libc::c_long = 0x10 | 0x20;

/// Where refs of ours and of layers are (ostree-ext, container/store.rs, `LAYER_PREFIX`).
const REFS: [&str; 2] = ["careen", "ostree/container/blob"];

mod call {
    // linux/fs.h: FS_IOC_GETFLAGS _IOR('f', 1, long), FS_IOC_SETFLAGS _IOW('f', 2, long).
    nix::ioctl_read!(flags, b'f', 1, nix::libc::c_long);
    nix::ioctl_write_ptr!(set_flags, b'f', 2, nix::libc::c_long);
}

/// The folders of deployments, in all stateroots, that libostree does not list: runs that were killed have left them.
pub fn orphans(site: &Site) -> Vec<PathBuf> {
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

/// Removes what libostree was writing beside a file when it was killed (libglnx, `glnx_file_replace_contents_at`): the origins lie beside
/// the deployments, and a ref that is half written holds what it names like any other. Among the refs of layers it keeps ostree-ext from removing
/// any. Other tools that write those hold the sysroot's lock, as we do.
///
/// # Errors
/// When it may still be there.
pub fn remove_half_written(root: &Path) -> host::Result<()> {
    let stateroots = children(&root.join("ostree/deploy"));
    let mut folders: Vec<_> = stateroots.iter().map(|one| one.join("deploy")).collect();
    let heads = root.join("ostree/repo/refs/heads");
    folders.extend(REFS.map(|refs| heads.join(refs)));
    folders.extend(children(&heads.join(names::IMAGE_REFS)));
    let files = folders.iter().flat_map(|folder| children(folder));
    files
        .filter(|path| is_half_written(path))
        .try_for_each(|path| host::durable::remove(&path))
}

/// Whether libostree was writing it, beside the file that it was to become: called `tmp.` and six letters or digits.
pub fn is_half_written(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let random = name.strip_prefix("tmp.").unwrap_or_default();
    let facts = path.symlink_metadata();
    random.len() == 6 && facts.is_ok_and(|facts| facts.is_file())
}

/// Takes the flags off all that lies in an orphan. What cannot be changed shows when it is to be removed.
pub fn release(site: &Site) {
    for orphan in orphans(site) {
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
    // SAFETY: the file is open and `flags` outlives the call; the kernel writes no more than a long.
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

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
