//! Writes the deployment: checkout, /etc merge, boot entries. libostree does all of it, in Careen's
//! order.

use std::fs::File;
use std::io;
use std::path::Path;

use ostree_ext::ostree::{self, SysrootDeployTreeOpts, SysrootWriteDeploymentsOpts};
use ostree_ext::{gio, glib};
use upgrade::Reason;

use super::{accounts, again, arguments, marks, spare};
use crate::args::Deploy;
use crate::gc::sweep;
use crate::site::{Site, same};
use crate::verify::image::Tree;
use crate::verify::room;

/// How often to try a merge during which a file of /etc vanished: the kubelet and other programs
/// rotate theirs.
const MERGES: u32 = 3;

/// Writes the deployment: [current, kept, new], in one atomic swap of the boot entries.
pub fn write(
    site: &Site,
    wanted: &Deploy,
    current: &ostree::Deployment,
    fingerprint: &str,
) -> Result<ostree::Deployment, Reason> {
    let made = check_out(site, wanted, current, fingerprint)?;
    accounts::add(site, &site.folder(current), &site.folder(&made))?;
    let old = again::replaceable(site, wanted);
    let mut order = without(site, &old);
    order.push(made.clone());
    site.report.progress(60, "writing boot entries");
    swap(site, &order)?;
    Ok(made)
}

fn check_out(
    site: &Site,
    wanted: &Deploy,
    current: &ostree::Deployment,
    fingerprint: &str,
) -> Result<ostree::Deployment, Reason> {
    let inherited = arguments::inherited(current);
    let added = arguments::to_add(site, &inherited);
    let arguments: Vec<_> = inherited.iter().chain(&added).map(String::as_str).collect();
    let options = SysrootDeployTreeOpts {
        override_kernel_argv: Some(&arguments),
        ..Default::default()
    };
    let origin = marks::new_origin(site, &wanted.commit, fingerprint, &added);
    let stateroot = current.osname();
    let mut tries = 1;
    loop {
        let made = site.sysroot.deploy_tree_with_options(
            Some(stateroot.as_str()),
            wanted.commit.as_str(),
            Some(&origin),
            Some(current),
            Some(&options),
            site.never(),
        );
        match made {
            Ok(made) => return Ok(made),
            Err(error) if error.matches(gio::IOErrorEnum::NotFound) && tries < MERGES => tries += 1,
            Err(error) if error.matches(gio::IOErrorEnum::NotFound) => {
                return Err(Reason::EtcMerge {
                    detail: error.message().to_owned(),
                });
            }
            Err(error) => return Err(reason(site, wanted, &error)),
        }
    }
}

/// All deployments but these, in menu order.
pub fn without(site: &Site, going: &[ostree::Deployment]) -> Vec<ostree::Deployment> {
    let stays =
        |deployment: &ostree::Deployment| !going.iter().any(|other| same(other, deployment));
    site.deployments().into_iter().filter(stays).collect()
}

/// Writes the menu in this order. libostree writes all of it next to the old one and swaps one
/// link.
pub fn swap(site: &Site, order: &[ostree::Deployment]) -> Result<(), Reason> {
    spare::make(&site.boot()).map_err(|error| site.broken(error))?;
    // A prune of the repository takes as long as the rest, so only `undo` and `clean` do it, once.
    let options = SysrootWriteDeploymentsOpts {
        do_postclean: false,
    };
    let swapped = site
        .sysroot
        .write_deployments_with_options(order, &options, site.never());
    swapped.map_err(|error| full_or_failed(site, &error))?;
    show_to_the_loader(site)?;
    spare::remove(&site.boot()).map_err(|error| site.broken(error))?;
    sweep::clear(site)
}

/// GRUB replays no journal, so the new link must be on its blocks before what the old link needs is
/// removed. Since 2025.2, libostree freezes /boot once more for that (ostree-sysroot-deploy.c,
/// `swap_bootloader`). Before, only an fsync follows the swap.
fn show_to_the_loader(site: &Site) -> Result<(), Reason> {
    if ostree::check_version(2025, 2) {
        return Ok(());
    }
    host::freeze::checkpoint(&site.boot()).map_err(|error| site.broken(error))
}

/// Removes deployments from the menu and from the disk.
pub fn drop_deployments(site: &Site, going: &[ostree::Deployment]) -> Result<(), Reason> {
    if going.is_empty() {
        Ok(())
    } else {
        swap(site, &without(site, going))
    }
}

fn reason(site: &Site, wanted: &Deploy, error: &glib::Error) -> Reason {
    // libostree's merge has no error code of its own, so check /etc again before blaming anything
    // else.
    let merged = site.current().zip(Tree::open(site, &wanted.commit).ok());
    let conflict = merged
        .and_then(|(current, tree)| super::etc::check(site, &site.folder(&current), &tree).err());
    conflict.unwrap_or_else(|| full_or_failed(site, error))
}

fn full_or_failed(site: &Site, error: &glib::Error) -> Reason {
    if !error.matches(gio::IOErrorEnum::NoSpace) {
        return site.failed(error);
    }
    let places = [
        ("/boot", site.boot()),
        ("the root file system", site.path.clone()),
    ];
    let rooms = places.map(|(place, path)| (host::room::free(&path).unwrap_or(0), place));
    let (free, place) = rooms.into_iter().min().unwrap_or((0, "/boot"));
    Reason::NoRoom {
        place: place.to_owned(),
        need: free + room::BOOT_MARGIN,
        free,
        inodes: false,
    }
}

/// The end of a verb: removes what a run left that was interrupted in the swap, and flushes what
/// was written to the disk.
pub fn settle(site: &Site) -> Result<(), Reason> {
    spare::clear(&site.boot()).map_err(|error| site.broken(error))?;
    let places = [site.path.clone(), site.boot()];
    let flushed = places.iter().try_for_each(|place| flush(place));
    flushed.map_err(|error| site.broken(error))
}

/// Flushes a whole file system.
pub fn flush(place: &Path) -> io::Result<()> {
    Ok(nix::unistd::syncfs(File::open(place)?)?)
}
