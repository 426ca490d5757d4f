//! Room on the disk while a pull is under way.
//!
//! libostree keeps a reserve (`min-free-space-percent`, `min-free-space-size`: ostree.repo-config(5)) and asks for it once a file is
//! whole (ostree-repo-commit.c, `write_content_object`). A file without an end is never whole: it would take all there is.

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
/// Below here libostree keeps what has not come whole, before [`BESIDE`] (libglnx, `glnx_open_anonymous_tmpfile`).
const VAR: &str = "/var";
/// Year and release from which on that lies in the repository (ostree-fetcher-curl.c, `ensure_tmpfile`).
const BESIDE: (u32, u32) = (2023, 6);
/// How often the room is looked at while skopeo unpacks.
const TICK: Duration = Duration::from_millis(250);
/// libostree's share of a file system where nobody says another, in percent.
const SHARE: u64 = 3;

/// The file systems that a pull writes to.
pub struct Room {
    places: Vec<Place>,
}

struct Place {
    path: PathBuf,
    /// For a person.
    name: &'static str,
    /// What is to be left, in bytes.
    reserve: u64,
}

impl Room {
    /// What the repository's reserve is now, and where else it is to be kept.
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

    /// Watches where an archive is unpacked too; the folder is there.
    pub fn and_of_unpacking(mut self, site: &Site, folder: &Path) -> Self {
        self.places
            .extend(of_its_own(&site.path, folder, names::UNPACKED));
        self
    }

    /// Waits until there is a reason to end.
    pub async fn until_short(&self) -> Reason {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            if let Some(shortage) = self.shortage() {
                return shortage;
            }
        }
    }

    /// The reason to end the pull, once it eats into the reserve. Half of that may be taken for a moment by what is still coming in.
    pub fn shortage(&self) -> Option<Reason> {
        self.places.iter().find_map(|place| {
            let free = host::room::free(&place.path).ok()?;
            (free < place.reserve / 2).then(|| Reason::NoRoom {
                place: place.name.to_owned(),
                need: place.reserve,
                free,
            })
        })
    }
}

/// The reason not to begin with what takes at least so many bytes of the root file system.
pub fn too_little_for(site: &Site, repo: &Repo, bytes: u64) -> Option<Reason> {
    let need = repo.min_free_space_bytes().unwrap_or(0) + bytes;
    let free = host::room::free(&site.path).ok()?;
    (free < need).then(|| Reason::NoRoom {
        place: ROOT.to_owned(),
        need,
        free,
    })
}

/// The reason not to unpack so many bytes into this folder, which is there. Whoever does it has no rights, so what is kept for root is not counted.
pub fn too_little_to_unpack(site: &Site, repo: &Repo, folder: &Path, bytes: u64) -> Option<Reason> {
    let apart = of_its_own(&site.path, folder, names::UNPACKED);
    let (name, reserve) = apart.map_or_else(
        || (ROOT, repo.min_free_space_bytes().unwrap_or(0)),
        |place| (place.name, place.reserve),
    );
    let facts = statvfs(folder).ok()?;
    let free = facts.blocks_available() * facts.fragment_size();
    let need = reserve + bytes;
    (free < need).then(|| Reason::NoRoom {
        place: name.to_owned(),
        need,
        free,
    })
}

/// A place on another file system than root, with libostree's share of it as the reserve.
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
