//! Clears what runs that were killed have left. libostree clears most of it; its `cleanup` of 2025.2 does not see
//! kernels on /boot unless the same process has just written the menu, and a full /boot ends all upgrades.

use std::fs;
use std::path::Path;

use ostree_ext::glib;
use upgrade::id::Digest;
use upgrade::{Reason, names};

use crate::deploy::spare;
use crate::former::Former;
use crate::site::Site;
use crate::stray;
use crate::undo;

/// Clears, and leaves the repository's objects alone: pruning takes as long as a whole deploy.
///
/// # Errors
/// When libostree cannot write.
pub fn clear(site: &Site) -> Result<(), Reason> {
    past_obstacles(site, || site.sysroot.prepare_cleanup(site.never()))?;
    remove_kernels(site)
}

/// Clears, and prunes the repository.
///
/// # Errors
/// When libostree cannot write.
pub fn clear_and_prune(site: &Site) -> Result<(), Reason> {
    // No plan is being made while anybody prunes, so this is of one that was cut off.
    undo::release(site, names::PLAN_REF, None)?;
    past_obstacles(site, || site.sysroot.cleanup(site.never()))?;
    remove_kernels(site)
}

/// What stands in an orphan's way is cleared once. What stays then is named and left: it blocks no upgrade, but libostree
/// prunes only when no orphan is left.
fn past_obstacles(site: &Site, clean: impl Fn() -> Result<(), glib::Error>) -> Result<(), Reason> {
    // What the old menu needs goes next, so the new one must be GRUB's by now.
    spare::clear(&site.boot()).map_err(|error| site.broken(error))?;
    stray::remove_half_written(&site.path).map_err(|error| site.broken(error))?;
    let former = Former::read(site);
    let cleared = clear_past(site, clean);
    former.map_or(Ok(()), |former| former.put_back(site))?;
    cleared
}

fn clear_past(site: &Site, clean: impl Fn() -> Result<(), glib::Error>) -> Result<(), Reason> {
    if clean().is_ok() {
        return Ok(());
    }
    stray::release(site);
    let Err(error) = clean() else {
        return Ok(());
    };
    let orphans = stray::orphans(site);
    if orphans.is_empty() {
        return Err(site.failed(&error));
    }
    for orphan in orphans {
        let told = format!(
            "leaving {}: {}; until it is gone nothing is pruned and each upgrade takes more room",
            orphan.display(),
            error.message()
        );
        eprintln!("careen-deploy {}: {told}", site.verb);
        site.report.progress(0, told);
    }
    Ok(())
}

/// Removes the folders of kernels that no deployment has. The menu names none but those of deployments.
fn remove_kernels(site: &Site) -> Result<(), Reason> {
    let Ok(folders) = fs::read_dir(site.boot().join("ostree")) else {
        return Ok(());
    };
    let mut orphans = folders
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_orphan(site, path));
    orphans.try_for_each(|path| {
        fs::remove_dir_all(&path)
            .map_err(|error| site.broken(format!("{}: {error}", path.display())))
    })
}

/// Folders are called `<stateroot>-<checksum>`; what is called otherwise is none of ours.
fn is_orphan(site: &Site, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((stateroot, checksum)) = name.rsplit_once('-') else {
        return false;
    };
    let known = checksum.parse::<Digest>().is_ok();
    // All of them, one that somebody has staged included.
    let mut deployments = site.sysroot.deployments().into_iter();
    known
        && !deployments
            .any(|deployment| deployment.osname() == stateroot && deployment.bootcsum() == checksum)
}
