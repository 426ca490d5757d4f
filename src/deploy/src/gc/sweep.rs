//! What killed runs have left. libostree removes most of it.

use ostree_ext::glib;
use upgrade::{Reason, names};

use super::previous_menu::PreviousMenu;
use super::{half_written, kernels, orphans, refs};
use crate::deploy::spare;
use crate::site::Site;

/// Clears, and leaves the repository's objects alone, because a prune takes as long as a whole
/// deployment.
///
/// # Errors
/// libostree cannot write.
pub fn clear(site: &Site) -> Result<(), Reason> {
    past_obstacles(site, || site.sysroot.prepare_cleanup(site.never()))?;
    kernels::remove(site)
}

/// Clears, and prunes the repository.
///
/// # Errors
/// libostree cannot write.
pub fn clear_and_prune(site: &Site) -> Result<(), Reason> {
    // No plan runs during a prune, so the ref belongs to an interrupted plan.
    refs::remove(site, names::PLAN_REF, None)?;
    past_obstacles(site, || site.sysroot.cleanup(site.never()))?;
    kernels::remove(site)
}

/// Removes once what stops the removal of an orphan. An orphan that still stays is logged: it
/// blocks no upgrade, but libostree prunes only when no orphan is left.
fn past_obstacles(site: &Site, clean: impl Fn() -> Result<(), glib::Error>) -> Result<(), Reason> {
    // What the old menu needs is removed next, so the new menu must be GRUB's by now.
    spare::clear(&site.boot()).map_err(|error| site.broken(error))?;
    half_written::remove(&site.path).map_err(|error| site.broken(error))?;
    let previous = PreviousMenu::read(site);
    let cleared = clear_past(site, clean);
    previous.map_or(Ok(()), |previous| previous.put_back(site))?;
    cleared
}

fn clear_past(site: &Site, clean: impl Fn() -> Result<(), glib::Error>) -> Result<(), Reason> {
    if clean().is_ok() {
        return Ok(());
    }
    orphans::make_removable(site);
    let Err(error) = clean() else {
        return Ok(());
    };
    let left = orphans::all(site);
    if left.is_empty() {
        return Err(site.failed(&error));
    }
    for orphan in left {
        let told = format!(
            "cannot remove {}: {}; until it is gone nothing is pruned, and each upgrade takes more room",
            orphan.display(),
            error.message()
        );
        eprintln!("careen-deploy {}: {told}", site.verb);
        site.report.progress(0, told);
    }
    Ok(())
}
