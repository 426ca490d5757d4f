//! The room that a deployment needs, computed before it begins, because libostree notices only half
//! way.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ostree_ext::ostree;
use upgrade::Reason;
use upgrade::id::Digest;
use upgrade::image::Room;

use super::image::{Kernel, Tree};
use crate::deploy::origin;
use crate::site::{Site, same};

/// A block: the minimum for a folder, a small file or a link on ext4 and xfs.
const BLOCK: u64 = 4096;
/// What must remain free on root: for journals and logs while the node drains and reboots.
const ROOT_MARGIN: u64 = 32 << 20;
/// What must remain free on /boot: for boot entries, grub.cfg, and the 1 MiB that libostree itself
/// keeps.
pub const BOOT_MARGIN: u64 = 2 << 20;

/// Room on root. A checkout links the files, so it needs folders, its own copy of /etc, and the
/// margin. It also needs the kernel if /boot is on the same file system. The folders are those of
/// `counted`, because not every list of the image's own folders may be here.
pub fn root(
    site: &Site,
    tree: &Tree,
    kernel: Option<&Kernel>,
    counted: &Tree,
) -> Result<Room, Reason> {
    let image = tree.folder()?;
    let damaged = |error| tree.damaged(&error);
    let folders = counted.folder()?.count();
    let mut need = ROOT_MARGIN + folders.map_err(|error| counted.damaged(&error))? * BLOCK;
    if let Some(etc) = ["usr/etc", "etc"]
        .iter()
        .find_map(|path| image.folder(path))
    {
        let lengths = etc.lengths().map_err(damaged)?;
        need = lengths
            .into_iter()
            .map(blocks)
            .fold(need, u64::saturating_add);
    }
    need += site
        .current()
        .map_or(0, |current| folder_size(&site.folder(&current).join("etc")));
    if on_one_file_system(&site.path, &site.boot()) {
        need += kernel.map_or(0, |kernel| blocks(kernel.size));
    }
    Ok(Room {
        need,
        free: free(site, &site.path)?,
    })
}

/// Room on /boot, including what the kept deployment frees. That one is removed first if the new
/// kernel does not fit.
pub fn boot(site: &Site, tree: &Tree, kernel: Option<&Kernel>) -> Result<Room, Reason> {
    let room = boot_now(site, tree, kernel)?;
    let spare = if room.fits() {
        0
    } else {
        droppable_kernels(site)
    };
    Ok(Room {
        free: room.free + spare,
        ..room
    })
}

/// Room on /boot as it is now. To find out whether the same kernel is already there means reading
/// it, so this is only called when it matters.
pub fn boot_now(site: &Site, tree: &Tree, kernel: Option<&Kernel>) -> Result<Room, Reason> {
    let free = free(site, &site.boot())?;
    let size = kernel.map_or(0, |kernel| blocks(kernel.size));
    let there = || kernel.is_some_and(|kernel| is_on_boot(site, tree, kernel));
    let need = if free < size + BOOT_MARGIN && there() {
        BOOT_MARGIN
    } else {
        size + BOOT_MARGIN
    };
    Ok(Room { need, free })
}

/// Deployments that may be removed for a new one: neither running, nor the default, nor pinned by
/// somebody else.
pub fn droppable(site: &Site) -> Vec<ostree::Deployment> {
    let Some(current) = site.current() else {
        return Vec::new();
    };
    let others = site.deployments().into_iter().skip(1);
    others
        .filter(|other| !same(other, &current) && other.osname() == current.osname())
        .filter(|other| !origin::is_kept_by_others(other))
        .collect()
}

/// Those that are removed for this commit. Another deployment of this commit is the requested one,
/// and stays until the new one has passed its trial.
pub fn makes_way(site: &Site, commit: &Digest) -> Vec<ostree::Deployment> {
    let other = |one: &ostree::Deployment| one.csum() != commit.as_str();
    droppable(site).into_iter().filter(other).collect()
}

fn droppable_kernels(site: &Site) -> u64 {
    let going = droppable(site);
    let stays =
        |deployment: &ostree::Deployment| !going.iter().any(|other| same(other, deployment));
    let kept: HashSet<_> = site
        .deployments()
        .into_iter()
        .filter(stays)
        .map(|deployment| deployment.bootcsum())
        .collect();
    let freed: HashSet<_> = going
        .iter()
        .filter(|deployment| !kept.contains(&deployment.bootcsum()))
        .map(|deployment| kernel_folder(site, &deployment.osname(), &deployment.bootcsum()))
        .collect();
    freed.iter().map(|folder| folder_size(folder)).sum()
}

/// A folder alone proves nothing, because a run that failed half way may have left it.
fn is_on_boot(site: &Site, tree: &Tree, kernel: &Kernel) -> bool {
    let wanted = tree.bootcsum(kernel);
    site.deployments()
        .iter()
        .any(|other| wanted.as_deref() == Some(other.bootcsum().as_str()))
}

fn kernel_folder(site: &Site, stateroot: &str, bootcsum: &str) -> PathBuf {
    site.boot().join(format!("ostree/{stateroot}-{bootcsum}"))
}

const fn blocks(size: u64) -> u64 {
    size.div_ceil(BLOCK).saturating_mul(BLOCK)
}

fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().filter_map(|entry| {
        let facts = entry.metadata().ok()?;
        Some(if facts.is_dir() {
            BLOCK + folder_size(&entry.path())
        } else {
            blocks(facts.len())
        })
    });
    sizes.sum()
}

fn on_one_file_system(a: &Path, b: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|facts| facts.dev()).ok();
    device(a) == device(b)
}

fn free(site: &Site, place: &Path) -> Result<u64, Reason> {
    host::room::free(place).map_err(|error| site.broken(error))
}
