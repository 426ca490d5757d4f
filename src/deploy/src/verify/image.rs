//! The content of a commit's tree, read from the repository without a checkout.

use std::io;

use ostree_ext::gio;
use ostree_ext::gio::prelude::*;
use ostree_ext::glib;
use ostree_ext::ostree::{Repo, RepoFile};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use upgrade::id::Digest;
use upgrade::image::ImageInfo;
use upgrade::{Reason, names};

use super::folder::Folder;
use crate::site::Site;

/// The folder of kernels in an image.
const MODULES: &str = "usr/lib/modules";
const FACTS: &str = "standard::name,standard::type,standard::size";
/// The limit for `image.json` in bytes, far above its real size. A longer file is not read into
/// memory.
const LONGEST_INFO: u64 = 64 << 10;
/// The size of one read.
const PIECE: usize = 256 * 1024;
const NEVER: Option<&gio::Cancellable> = None;

/// A commit's root folder.
pub struct Tree {
    repo: Repo,
    root: gio::File,
    commit: String,
}

/// The kernel of an image.
pub struct Kernel {
    /// Its version: the name of its folder.
    pub version: String,
    /// Kernel and initramfs, in bytes.
    pub size: u64,
    /// What libostree copies to /boot, in the order in which it hashes them.
    parts: [gio::File; 2],
}

impl Tree {
    /// Opens a commit of the repository.
    pub fn open(site: &Site, commit: &Digest) -> Result<Self, Reason> {
        let repo = site.sysroot.repo();
        let (root, _) = repo
            .read_commit(commit.as_str(), NEVER)
            .map_err(|error| super::fsck::damaged(commit, error.message()))?;
        Ok(Self {
            repo,
            root,
            commit: commit.to_string(),
        })
    }

    /// A temporary folder, removed when dropped. It is in the repository's own temporary folder:
    /// accessible only to root, on a disk, and cleared by libostree after a run was killed.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn scratch(&self) -> io::Result<TempDir> {
        let path = self.repo.path().path().unwrap_or_default();
        TempDir::new_in(path.join("tmp"))
    }

    /// `image.json`, or `None` if there is none.
    ///
    /// # Errors
    /// [`Reason::NoImageInfo`] if it exists and cannot be parsed.
    pub fn info(&self) -> Result<Option<ImageInfo>, Reason> {
        let file = self.root.resolve_relative_path(names::IMAGE_INFO);
        if !file.query_exists(NEVER) {
            return Ok(None);
        }
        let unreadable = |detail: String| Reason::NoImageInfo {
            commit: self.commit.clone(),
            detail,
        };
        if let Some(length) = size(&file).filter(|length| *length > LONGEST_INFO) {
            return Err(unreadable(format!(
                "it is {length} bytes long; at most {LONGEST_INFO} are accepted"
            )));
        }
        let bytes = self
            .content(&file)
            .ok_or_else(|| unreadable("it is not a readable file".to_owned()))?;
        host::image_info::parse(&bytes)
            .map(Some)
            .map_err(unreadable)
    }

    /// The kernel, if there is exactly one, with an initramfs next to it. If there are several,
    /// libostree takes the first one in a listing of the checkout, even without an initramfs
    /// (ostree-sysroot-deploy.c, `get_kernel_from_tree_usrlib_modules`). Nobody can tell which one
    /// that is.
    pub fn kernel(&self) -> Option<Kernel> {
        let modules = self.root.resolve_relative_path(MODULES);
        let folders = self.children(&modules).into_iter();
        let mut with_one = folders.filter(|folder| is_there(&folder.child("vmlinuz")));
        let (Some(folder), None) = (with_one.next(), with_one.next()) else {
            return None;
        };
        let parts = [folder.child("vmlinuz"), folder.child("initramfs.img")];
        Some(Kernel {
            version: folder.basename()?.to_string_lossy().into_owned(),
            size: parts.iter().map(size).sum::<Option<u64>>()?,
            parts,
        })
    }

    /// The checksum that names the kernel's folder in /boot/ostree: over the kernel, then the
    /// initramfs (libostree, `get_kernel_from_tree_usrlib_modules`). Reads both.
    pub fn bootcsum(&self, kernel: &Kernel) -> Option<String> {
        let mut digest = Sha256::new();
        for part in &kernel.parts {
            self.feed(part, &mut |piece| digest.update(piece))?;
        }
        Some(hex::encode(digest.finalize()))
    }

    /// Whether the image has a folder at this path.
    pub fn has_folder(&self, path: &str) -> bool {
        self.kind(path) == gio::FileType::Directory
    }

    /// Whether the image has a file at this path, and not a link to one.
    pub fn has_file(&self, path: &str) -> bool {
        self.kind(path) == gio::FileType::Regular
    }

    fn kind(&self, path: &str) -> gio::FileType {
        let there = self.root.resolve_relative_path(path);
        there.query_file_type(gio::FileQueryInfoFlags::NOFOLLOW_SYMLINKS, NEVER)
    }

    /// The root folder, as its object lists it.
    ///
    /// # Errors
    /// [`Reason::Damaged`] if it cannot be read.
    pub fn folder(&self) -> Result<Folder, Reason> {
        let damaged = |error: glib::Error| self.damaged(&error);
        // Its commit is unknown until it is resolved.
        let root = self.root.downcast_ref::<RepoFile>();
        let object = root.and_then(|root| {
            root.ensure_resolved().ok()?;
            root.tree_get_contents_checksum()
        });
        Folder::load(&self.repo, &object.unwrap_or_default()).map_err(damaged)
    }

    /// The reason for an object of it that cannot be read.
    pub fn damaged(&self, error: &glib::Error) -> Reason {
        Reason::Damaged {
            commit: self.commit.clone(),
            detail: error.message().to_owned(),
        }
    }

    /// Passes the content of the file at a path to `each` in pieces. Returns its length, or `None`
    /// if no such file can be read.
    pub fn read(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Option<u64> {
        if !self.has_file(path) {
            return None;
        }
        self.feed(&self.root.resolve_relative_path(path), each)
    }

    fn content(&self, file: &gio::File) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.feed(file, &mut |piece| bytes.extend_from_slice(piece))
            .map(|_| bytes)
    }

    /// Passes a file's content to `each` in pieces. Returns its length, or `None` if it cannot be
    /// read. This asks the repository by checksum, because gio's own `read` takes libostree's
    /// answer for a wrong type.
    fn feed(&self, file: &gio::File, each: &mut dyn FnMut(&[u8])) -> Option<u64> {
        let file = file.downcast_ref::<RepoFile>()?;
        // An unresolved file has no checksum, and libostree does not check for that.
        file.ensure_resolved().ok()?;
        let checksum = file.checksum();
        let (stream, _, _) = self.repo.load_file(&checksum, NEVER).ok()?;
        let stream = stream?;
        let mut length = 0;
        loop {
            let piece = stream.read_bytes(PIECE, NEVER).ok()?;
            if piece.is_empty() {
                return Some(length);
            }
            each(&piece);
            length += piece.len() as u64;
        }
    }

    fn children(&self, folder: &gio::File) -> Vec<gio::File> {
        let flags = gio::FileQueryInfoFlags::NOFOLLOW_SYMLINKS;
        let Ok(entries) = folder.enumerate_children(FACTS, flags, NEVER) else {
            return Vec::new();
        };
        // Stop at the first error: in an absent folder each entry is an error, without end.
        entries
            .map_while(Result::ok)
            .map(|info| folder.child(info.name()))
            .collect()
    }
}

/// Also true for a link, because libostree follows it.
fn is_there(file: &gio::File) -> bool {
    let flags = gio::FileQueryInfoFlags::NOFOLLOW_SYMLINKS;
    file.query_file_type(flags, NEVER) != gio::FileType::Unknown
}

/// A file's length, or `None` if there is no such file.
fn size(file: &gio::File) -> Option<u64> {
    let facts = file
        .query_info(FACTS, gio::FileQueryInfoFlags::NOFOLLOW_SYMLINKS, NEVER)
        .ok()?;
    let regular = facts.file_type() == gio::FileType::Regular;
    regular.then(|| facts.size().try_into().ok()).flatten()
}
