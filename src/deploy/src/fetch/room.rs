//! Room on the disk during a pull.
//!
//! libostree keeps a reserve (`min-free-space-percent`, `min-free-space-size`:
//! ostree.repo-config(5)) and checks it once a file is complete (ostree-repo-commit.c,
//! `write_content_object`). An endless file is never complete, and would use all the room.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statvfs::statvfs;
use ostree_ext::ostree::{self, Repo};
use upgrade::{Reason, names};

use crate::site::Site;

/// For a person.
const ROOT: &str = "the root file system";
const BOOT: &str = "/boot";
/// Fewer inodes than the smallest system needs on root, and a deployment on /boot.
const INODES: u64 = 1024;
const BOOT_INODES: u64 = 16;
/// At so few a pull stops.
const LAST_INODES: u64 = 64;
/// libostree keeps incomplete files below this folder, before [`BESIDE`] (libglnx,
/// `glnx_open_anonymous_tmpfile`).
const VAR: &str = "/var";
/// Year and release from which those files are in the repository (ostree-fetcher-curl.c,
/// `ensure_tmpfile`).
const BESIDE: (u32, u32) = (2023, 6);
/// How often to check the room while skopeo unpacks.
const TICK: Duration = Duration::from_millis(250);
/// libostree's default reserve of a file system, in percent.
const SHARE: u64 = 3;

/// The file systems that a pull writes to.
pub struct Room {
    places: Vec<Place>,
}

struct Place {
    path: PathBuf,
    /// For a person.
    name: &'static str,
    /// The reserve to leave free, in bytes.
    reserve: u64,
}

impl Room {
    /// The repository's current reserve, and the other file systems on which to keep one.
    pub fn of(site: &Site, repo: &Repo) -> Self {
        let root = Place {
            path: site.path.clone(),
            name: ROOT,
            reserve: repo.min_free_space_bytes().unwrap_or(0),
        };
        let mut places = vec![root];
        if !ostree::check_version(BESIDE.0, BESIDE.1) {
            places.extend(of_its_own(&site.path, Path::new(VAR), VAR));
        }
        Self { places }
    }

    /// Also watches where an archive is unpacked. The folder must exist.
    pub fn and_of_unpacking(mut self, site: &Site, folder: &Path) -> Self {
        self.places
            .extend(of_its_own(&site.path, folder, names::UNPACKED));
        self
    }

    /// Waits until there is a reason to stop.
    pub async fn until_short(&self) -> Reason {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            if let Some(shortage) = self.shortage() {
                return shortage;
            }
        }
    }

    /// The reason to stop the pull, once it uses the reserve. Incoming data may use half of the
    /// reserve for a moment.
    pub fn shortage(&self) -> Option<Reason> {
        let bytes = self.places.iter().find_map(|place| {
            let free = host::room::free(&place.path).ok()?;
            (free < place.reserve / 2).then(|| Reason::NoRoom {
                place: place.name.to_owned(),
                need: place.reserve,
                free,
                inodes: false,
            })
        });
        let inodes = || {
            let mut places = self.places.iter();
            places.find_map(|place| few_inodes(&place.path, place.name, LAST_INODES))
        };
        bytes.or_else(inodes)
    }
}

/// The reason not to begin a pull: a file system has too few inodes for a system. libostree would
/// notice only half way, and blame the room in bytes. A checkout links its files, but each folder,
/// each new object and each entry on /boot takes an inode.
pub fn too_few_inodes(site: &Site) -> Option<Reason> {
    let root = few_inodes(&site.path, ROOT, INODES);
    root.or_else(|| few_inodes(&site.boot(), BOOT, BOOT_INODES))
}

fn few_inodes(path: &Path, name: &str, need: u64) -> Option<Reason> {
    let free = host::room::inodes(path).ok()??;
    (free < need).then(|| Reason::NoRoom {
        place: name.to_owned(),
        need,
        free,
        inodes: true,
    })
}

/// The reason not to begin something that needs at least this many bytes of the root file system.
pub fn too_little_for(site: &Site, repo: &Repo, bytes: u64) -> Option<Reason> {
    let reserve = repo.min_free_space_bytes().unwrap_or(0);
    let need = reserve.saturating_add(bytes);
    let free = host::room::free(&site.path).ok()?;
    (free < need).then(|| Reason::NoRoom {
        place: ROOT.to_owned(),
        need,
        free,
        inodes: false,
    })
}

/// The reason not to unpack this many bytes into this folder, which must exist. The unpacking
/// process has no privileges, so blocks reserved for root do not count.
pub fn too_little_to_unpack(site: &Site, repo: &Repo, folder: &Path, bytes: u64) -> Option<Reason> {
    let apart = of_its_own(&site.path, folder, names::UNPACKED);
    let (name, reserve) = apart.map_or_else(
        || (ROOT, repo.min_free_space_bytes().unwrap_or(0)),
        |place| (place.name, place.reserve),
    );
    let facts = statvfs(folder).ok()?;
    let free = facts.blocks_available() * facts.fragment_size();
    let need = reserve.saturating_add(bytes);
    (free < need).then(|| Reason::NoRoom {
        place: name.to_owned(),
        need,
        free,
        inodes: false,
    })
}

/// A place on another file system than root, with libostree's default share of it as the reserve.
fn of_its_own(root: &Path, path: &Path, name: &'static str) -> Option<Place> {
    let device = |path: &Path| fs::metadata(path).map(|facts| facts.dev()).ok();
    let facts = statvfs(path).ok()?;
    let reserve = facts.blocks() * facts.fragment_size() / 100 * SHARE;
    (device(path) != device(root)).then(|| Place {
        path: path.to_owned(),
        name,
        reserve,
    })
}
