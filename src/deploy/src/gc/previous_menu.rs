//! The links that the previous menu uses, `ostree/boot.0` next to `ostree/boot.1`.
//!
//! libostree removes them as soon as it has swapped the menu. /boot may then return to its earlier
//! state (a disk that lost a write, a copy that was restored). In that case the old system's own
//! entry leads nowhere, and its initramfs waits for a person (ostree issue 2283). With these few
//! links it boots. libostree takes them for the remains of a killed run, so each clean-up must put
//! them back.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use upgrade::Reason;

use crate::site::Site;

/// The beginning of such a link, which is three folders deep (ostree-sysroot-deploy.c,
/// `install_deployment_kernel`).
const UP: &str = "../../..";

/// The other menu's links.
pub struct PreviousMenu {
    top: PathBuf,
    /// The path below `top`, and the target.
    links: Vec<(PathBuf, PathBuf)>,
}

impl PreviousMenu {
    /// The existing links, or `None` if the current menu cannot be determined.
    pub fn read(site: &Site) -> Option<Self> {
        let name = match fs::read_link(site.boot().join("loader")).ok()?.to_str()? {
            "loader.0" => "boot.1",
            "loader.1" => "boot.0",
            _ => return None,
        };
        let top = site.path.join("ostree").join(name);
        let links = links_below(&top, LEVELS);
        let below = |(link, target): (PathBuf, PathBuf)| {
            Some((link.strip_prefix(&top).ok()?.to_owned(), target))
        };
        let links = links.into_iter().filter_map(below).collect();
        Some(Self { top, links })
    }

    /// Puts back the links with an existing target, after libostree has removed them all.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn put_back(mut self, site: &Site) -> Result<(), Reason> {
        let ostree = site.path.join("ostree");
        self.links.retain(|(_, target)| {
            let target = target.strip_prefix(UP);
            target.is_ok_and(|target| ostree.join(target).is_dir())
        });
        let stays = self.links.is_empty() || self.top.is_symlink();
        let written = if stays { Ok(()) } else { self.write(&ostree) };
        written.map_err(|error| site.broken(format!("{}: {error}", self.top.display())))
    }

    /// Writes them in a new folder that gets its final name last, as libostree does.
    fn write(&self, ostree: &Path) -> std::io::Result<()> {
        let folder = self.top.with_added_extension("0");
        for (below, target) in &self.links {
            let link = folder.join(below);
            if let Some(parent) = link.parent() {
                fs::create_dir_all(parent)?;
            }
            symlink(target, link)?;
        }
        if let Some(name) = folder.file_name() {
            symlink(name, &self.top)?;
        }
        fs::File::open(ostree)?.sync_all()
    }
}

/// Stateroot, checksum of the kernel, serial.
const LEVELS: usize = 3;

/// The links this many levels below a folder, with their targets.
fn links_below(folder: &Path, levels: usize) -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    if levels > 1 {
        return paths
            .flat_map(|path| links_below(&path, levels - 1))
            .collect();
    }
    let with_target = |path: PathBuf| fs::read_link(&path).ok().map(|target| (path, target));
    paths.filter_map(with_target).collect()
}
