//! What an interrupted pull has left. It is not an object of the repository yet, so nothing prunes
//! it. libostree keeps it, because the next pull continues with it.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use upgrade::Reason;
use upgrade::id::Digest;

use super::half_written;
use crate::site::Site;

/// The prefix of the folders in which libostree collects objects (ostree-repo-private.h,
/// `OSTREE_REPO_TMPDIR_STAGING`).
const STAGING: &str = "staging-";
/// The suffix of such a folder's lock.
const LOCK: &str = "-lock";
/// The suffix of libostree's note that a commit is incomplete.
const PARTIAL: &str = ".commitpartial";

/// The suffix of a commit's signatures. They come before the commit itself, and stay when the
/// signatures make libostree reject it.
const SIGNATURES: &str = "commitmeta";

/// Removes the note about this commit, or about all commits, what was collected, and signatures
/// without their commit.
///
/// # Errors
/// It may still be there.
pub fn remove(site: &Site, commit: Option<&Digest>) -> Result<(), Reason> {
    match commit {
        Some(commit) => forget_note(site, commit)?,
        None => noted(site)
            .iter()
            .try_for_each(|commit| forget_note(site, commit))?,
    }
    let mut folders = gathered(site);
    folders.extend(checkouts(site));
    let forgotten = folders
        .iter()
        .try_for_each(|folder| host::durable::remove_folder(folder));
    forgotten.map_err(|error| site.broken(error))?;
    remove_among_objects(site)
}

/// Removes what killed pulls have left among the objects. A later pull that succeeds leaves it
/// there.
///
/// # Errors
/// It may still be there.
pub fn remove_among_objects(site: &Site) -> Result<(), Reason> {
    let left = left_among_objects(site);
    let swept = left.iter().try_for_each(|path| host::durable::remove(path));
    swept.map_err(|error| site.broken(error))
}

/// What nothing prunes: signatures without their commit, and signatures that a killed pull was
/// writing.
fn left_among_objects(site: &Site) -> Vec<PathBuf> {
    let objects = repo(site).join("objects");
    let folders = names(&objects).into_iter().map(|name| objects.join(name));
    let files = folders.flat_map(|folder| {
        let names = names(&folder).into_iter();
        names.map(move |name| folder.join(name))
    });
    // A file that another process is writing soon changes its name, and that pull would fail
    // without it.
    let quiet = !somebody_pulls(site);
    files
        .filter(|path| is_orphan(path) || quiet && half_written::is_half_written(path))
        .collect()
}

fn is_orphan(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == SIGNATURES) && !path.with_extension("commit").exists()
}

/// libostree notes that a commit is incomplete, and removes the note only with the commit. An
/// interrupted pull may have left only the note.
fn forget_note(site: &Site, commit: &Digest) -> Result<(), Reason> {
    if site.sysroot.repo().load_commit(commit.as_str()).is_ok() {
        return Ok(());
    }
    let note = repo(site).join("state").join(format!("{commit}{PARTIAL}"));
    host::durable::remove(&note).map_err(|error| site.broken(error))
}

fn noted(site: &Site) -> Vec<Digest> {
    let names = names(&repo(site).join("state"));
    let noted = names
        .iter()
        .filter_map(|name| name.strip_suffix(PARTIAL)?.parse().ok());
    noted.collect()
}

/// The folders of pulls that no longer run.
fn gathered(site: &Site) -> Vec<PathBuf> {
    let tmp = repo(site).join("tmp");
    let folders = names(&tmp).into_iter().filter(|name| {
        let lock = tmp.join(format!("{name}{LOCK}"));
        name.starts_with(STAGING) && tmp.join(name).is_dir() && !is_held(&lock)
    });
    folders.map(|name| tmp.join(name)).collect()
}

/// Whether any process holds the lock of a pull. The pull's folder exists as long as the lock.
fn somebody_pulls(site: &Site) -> bool {
    let tmp = repo(site).join("tmp");
    let mut locks = names(&tmp)
        .into_iter()
        .filter(|name| name.starts_with(STAGING) && name.ends_with(LOCK));
    locks.any(|name| is_held(&tmp.join(name)))
}

/// The folders in which ostree-ext was assembling layers when it was killed (container/store.rs,
/// `import`: a `root` in a folder of cap-tempfile's). libostree removes them after a day. Other
/// tools that assemble layers hold the sysroot's lock, as careen-deploy does.
fn checkouts(site: &Site) -> Vec<PathBuf> {
    let tmp = repo(site).join("tmp");
    let random = names(&tmp).into_iter().filter(|name| is_random(name));
    let folders = random.map(|name| tmp.join(name));
    folders.filter(|folder| names(folder) == ["root"]).collect()
}

/// A UUID, as cap-tempfile uses for a name (lib.rs, `TempDir::new_name`).
fn is_random(name: &str) -> bool {
    let lengths = name.split('-').map(str::len);
    let hex = |byte: u8| byte == b'-' || byte.is_ascii_hexdigit();
    lengths.eq([8, 4, 4, 4, 12]) && name.bytes().all(hex)
}

/// Whether a pull into the folder of this lock is running. It is a lock of an open file
/// description, as libglnx takes them (glnx-lockfile.c).
fn is_held(lock: &Path) -> bool {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(lock) else {
        return false;
    };
    let whole = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_OFD_SETLK(&whole)).is_err()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.collect()
}

fn repo(site: &Site) -> PathBuf {
    site.path.join("ostree/repo")
}
