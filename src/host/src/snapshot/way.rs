//! The path from the root of a node to a file in a snapshot, as root must walk it where other users
//! may write.
//!
//! A listed path may belong to an application, or be a volume of a pod that writes anything there.
//! So the walk follows no link and never leaves the root, when it reads and when it restores. It
//! does not open what is neither file nor folder: a pipe would wait for its writer, and a device
//! might act. And it reads no file that is larger than state is.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::libc::O_NONBLOCK;
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::index::Saved;
use crate::error::{At, Error, Result};

/// The largest file that counts as state, in bytes; it is briefly held in memory.
pub(super) const LARGEST: u64 = 64 << 20;

/// The most files and folders that are visited below the listed paths.
pub(super) const MOST: usize = 4096;

/// The most folders within each other that are visited, with the listed one.
pub(super) const DEEPEST: usize = 64;

/// Folders that only the system writes. A link directly in one belongs to the system, such as
/// `/opt` to `var/opt`, or `/var/lib/kubelet` to another disk.
const OF_THE_SYSTEM: [&str; 4] = ["", "/usr", "/var", "/var/lib"];

/// The longest chain of the system's links; a longer one is a loop.
const LINKS: usize = 8;

/// The suffix of a file that is being restored.
const NEW: &str = ".careen-new";

/// The root of a node.
pub(super) struct Way {
    root: PathBuf,
    top: File,
}

/// What is at a path.
pub(super) enum There {
    /// A regular file, open for reading.
    File(File, Metadata),
    /// A folder.
    Folder(OwnedFd),
    /// A link, a pipe, a socket or a device.
    Other,
}

/// The place of a file, existing or not: its folder, open, and its name.
pub(super) struct Place {
    folder: OwnedFd,
    name: String,
    full: PathBuf,
}

impl Way {
    pub(super) fn from(root: &Path) -> Result<Self> {
        let top = File::open(root).at("opening", root)?;
        let root = root.to_owned();
        Ok(Self { root, top })
    }

    /// The path with the system's own links resolved.
    pub(super) fn settled(&self, path: &str) -> String {
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            match self.behind_a_link(&path) {
                Some(next) => path = next,
                None => break,
            }
        }
        path
    }

    fn behind_a_link(&self, path: &str) -> Option<String> {
        OF_THE_SYSTEM.iter().find_map(|folder| {
            let rest = path.strip_prefix(folder)?.strip_prefix('/')?;
            let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
            let link = self.full(&format!("{folder}/{name}"));
            let target = fs::read_link(link).ok()?;
            let target = match target.to_str()? {
                absolute if absolute.starts_with('/') => absolute.to_owned(),
                relative => format!("{folder}/{relative}"),
            };
            Some(plain(&format!("{target}/{below}")))
        })
    }

    /// What is at this path; `None` if there is nothing.
    pub(super) fn look(&self, path: &str) -> Result<Option<There>> {
        let found = self.resolve(path, OFlag::O_PATH | OFlag::O_NOFOLLOW)?;
        found.map(|found| self.opened(found, path)).transpose()
    }

    /// What has this name in an open folder; `None` if there is nothing. The path is for errors.
    pub(super) fn look_in(
        &self,
        folder: &OwnedFd,
        name: &str,
        path: &str,
    ) -> Result<Option<There>> {
        let found = self.step(path, folder, name)?;
        found.map(|found| self.opened(found, path)).transpose()
    }

    /// Opens the content of what was found, if it is a file or a folder.
    fn opened(&self, found: OwnedFd, path: &str) -> Result<There> {
        let full = self.full(path);
        let found = File::from(found);
        let facts = found.metadata().at("asking for", &full)?;
        if facts.is_dir() {
            let reading = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
            let folder = openat(&found, ".", reading, Mode::empty()).at("opening", &full)?;
            return Ok(There::Folder(folder));
        }
        if !facts.is_file() {
            return Ok(There::Other);
        }
        // Opens the same file that was checked: its name may lead to a device by now.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(format!("/proc/self/fd/{}", found.as_raw_fd()));
        Ok(There::File(file.at("opening", &full)?, facts))
    }

    /// The place for a file; `None` if its folder does not exist.
    pub(super) fn place(&self, path: &str) -> Result<Option<Place>> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.settled(folder);
        let opened = self.resolve(&folder, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
        Ok(opened.map(|opened| Place {
            folder: opened,
            name: name.to_owned(),
            full: self.full(&format!("{folder}/{name}")),
        }))
    }

    pub(super) fn full(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Walks name by name. openat2(2) does it in one call, but a service with `RestrictSUIDSGID=`
    /// cannot use it, because its arguments cannot be inspected (systemd,
    /// src/shared/seccomp-util.c).
    fn resolve(&self, path: &str, flags: OFlag) -> Result<Option<OwnedFd>> {
        let mut here = OwnedFd::from(self.top.try_clone().at("opening", &self.root)?);
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if name == ".." {
                return Err(Error::damaged(&self.full(path), "the path leads upwards"));
            }
            match self.step(path, &here, name)? {
                Some(next) => here = next,
                None => return Ok(None),
            }
        }
        if flags.contains(OFlag::O_PATH) {
            return Ok(Some(here));
        }
        match openat(&here, ".", flags | OFlag::O_CLOEXEC, Mode::empty()) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::ENOTDIR) => self.no_link(path, &here).map(|()| None),
            Err(errno) => Err(errno).at("opening", &self.full(path)),
        }
    }

    /// Opens this name in a folder without opening its content. `None` if there is nothing, or the
    /// folder is not a folder.
    fn step(&self, path: &str, folder: &OwnedFd, name: &str) -> Result<Option<OwnedFd>> {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match openat(folder, name, flags, Mode::empty()) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ENOTDIR) => self.no_link(path, folder).map(|()| None),
            Err(errno) => Err(errno).at("opening", &self.full(path)),
        }
    }

    fn no_link(&self, path: &str, found: &OwnedFd) -> Result<()> {
        let full = self.full(path);
        let found = fstat(found).at("asking for", &full)?;
        if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFLNK {
            return Err(Error::damaged(
                &full,
                "there is a link on the path, and links are not followed; list the place that it leads to",
            ));
        }
        Ok(())
    }
}

/// The names in a folder, in order. A name that is not valid text is not state.
pub(super) fn names(folder: &OwnedFd, path: &Path) -> Result<Vec<String>> {
    let folder = folder.try_clone().at("listing", path)?;
    let mut folder = Dir::from_fd(folder).at("listing", path)?;
    let mut names = Vec::new();
    for entry in folder.iter() {
        let entry = entry.at("listing", path)?;
        let name = entry.file_name().to_str().unwrap_or(".");
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
        if names.len() > MOST {
            return Err(too_many(path));
        }
    }
    names.sort();
    Ok(names)
}

pub(super) fn too_many(path: &Path) -> Error {
    let detail = format!(
        "with its content more than {MOST} files and folders are listed; list less in snapshot.d"
    );
    Error::damaged(path, detail)
}

pub(super) fn too_deep(path: &Path) -> Error {
    let detail =
        format!("it is more than {DEEPEST} folders deep in a listed one; list less in snapshot.d");
    Error::damaged(path, detail)
}

/// The content of a file, unless it is larger than state is.
pub(super) fn content(file: File, facts: &Metadata, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    if facts.len() <= LARGEST {
        let mut some = file.take(LARGEST + 1);
        some.read_to_end(&mut bytes).at("reading", path)?;
    }
    is_state(facts.len().max(bytes.len() as u64), path)?;
    Ok(bytes)
}

/// Refuses a file that is larger than state is.
pub(super) fn is_state(length: u64, path: &Path) -> Result<()> {
    if length > LARGEST {
        let detail =
            format!("it is larger than {LARGEST} bytes; remove it from the list in snapshot.d");
        return Err(Error::damaged(path, detail));
    }
    Ok(())
}

impl Place {
    /// Writes a whole file, replacing whatever is there.
    pub(super) fn put(&self, content: &[u8], saved: &Saved) -> Result<()> {
        let new = format!("{}{NEW}", self.name);
        self.unlink(&new)?;
        let creating = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let only = OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let private = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = openat(&self.folder, new.as_str(), creating | only, private);
        let mut file = File::from(file.at("creating beside", &self.full)?);
        file.write_all(content).at("writing", &self.full)?;
        // The owner first: changing it clears bits of the mode.
        fchown(&file, Some(saved.uid), Some(saved.gid)).at("giving back", &self.full)?;
        file.set_permissions(Permissions::from_mode(saved.mode))
            .at("setting the mode of", &self.full)?;
        file.sync_all().at("syncing", &self.full)?;
        renameat(&self.folder, new.as_str(), &self.folder, self.name.as_str())
            .at("renaming to", &self.full)?;
        self.sync()
    }

    /// Removes the file, if it exists.
    pub(super) fn clear(&self) -> Result<()> {
        self.unlink(&self.name)?;
        self.sync()
    }

    fn unlink(&self, name: &str) -> Result<()> {
        match unlinkat(&self.folder, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(errno).at("removing beside", &self.full),
        }
    }

    /// Flushes the directory entries of its folder.
    pub(super) fn sync(&self) -> Result<()> {
        nix::unistd::fsync(&self.folder).at("syncing the folder of", &self.full)
    }
}

/// Without `.` and `..`; `..` never leads above the root.
fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}
