//! Lends disks to the kernel: each is a file of a FUSE file system, for a loop device to lie on.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, WriteFlags,
};

use crate::disk::{Disk, Log, Op, Which};

/// Nothing about a disk changes but its content, which is not cached.
const FOR_EVER: Duration = Duration::from_secs(3600);

struct Lent {
    disk: Disk,
    log: Option<(Which, Log)>,
}

type Disks = Arc<Mutex<HashMap<u64, Lent>>>;

/// The disks that the kernel may open now.
pub struct Shelf {
    place: PathBuf,
    disks: Disks,
    next: AtomicU64,
    _session: BackgroundSession,
}

/// A disk on the shelf; its file is called by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Number(u64);

impl Shelf {
    /// Mounts the shelf, for all that share this thread's mounts.
    pub fn at(place: &Path) -> Self {
        std::fs::create_dir_all(place).unwrap();
        let disks = Disks::default();
        let session =
            fuser::spawn_mount(Lender(Arc::clone(&disks)), place, &Config::default()).unwrap();
        Self {
            place: place.to_owned(),
            disks,
            // 1 is the folder itself.
            next: AtomicU64::new(2),
            _session: session,
        }
    }

    /// Lends a disk under a number that none had before.
    pub fn lend(&self, disk: Disk, log: Option<(Which, Log)>) -> Number {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let lent = Lent { disk, log };
        self.disks.lock().unwrap().insert(number, lent);
        Number(number)
    }

    pub fn path(&self, number: Number) -> PathBuf {
        self.place.join(number.0.to_string())
    }

    /// Takes a disk back as it is now.
    pub fn take(&self, number: Number) -> Disk {
        self.disks.lock().unwrap().remove(&number.0).unwrap().disk
    }
}

struct Lender(Disks);

impl Lender {
    fn disks(&self) -> MutexGuard<'_, HashMap<u64, Lent>> {
        self.0.lock().unwrap()
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let folder = number == INodeNo::ROOT.0;
        let size = if folder {
            0
        } else {
            self.disks().get(&number)?.disk.bytes()
        };
        let kind = if folder {
            FileType::Directory
        } else {
            FileType::RegularFile
        };
        Some(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Filesystem for Lender {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let number = name.to_str().and_then(|name| name.parse().ok());
        match number.and_then(|number| self.attributes(number)) {
            Some(found) => reply.entry(&FOR_EVER, &found, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number.0) {
            Some(found) => reply.attr(&FOR_EVER, &found),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // The loop device has a cache of its own above it.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.disks().get(&number.0) {
            Some(lent) => reply.data(&lent.disk.read(offset, size as usize)),
            None => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut disks = self.disks();
        let Some(lent) = disks.get_mut(&number.0) else {
            return reply.error(Errno::EIO);
        };
        lent.disk.write(offset, data);
        if let Some((disk, log)) = &lent.log {
            let (disk, data) = (*disk, data.into());
            log.lock().unwrap().push(Op::Write { disk, offset, data });
        }
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if let Some((disk, log)) = self
            .disks()
            .get(&number.0)
            .and_then(|lent| lent.log.as_ref())
        {
            log.lock().unwrap().push(Op::Flush { disk: *disk });
        }
        reply.ok();
    }
}
