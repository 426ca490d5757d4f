//! Writes a commit as a deployment after the current one: bootable once, never the default.
//! libostree cannot stage such a deployment, so it is written at once, with its /etc merged from
//! the running system's.

pub mod accounts;
pub mod again;
pub mod arguments;
pub mod etc;
pub mod hold;
pub mod marks;
pub mod origin;
pub mod spare;
pub mod vouched;
pub mod write;

use ostree_ext::ostree;
use upgrade::Reason;
use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::image::Deployment;

use crate::args::Deploy;
use crate::critical;
use crate::gc::sweep;
use crate::lock;
use crate::site::Site;
use crate::verify::image::Tree;
use crate::verify::room;

/// Deploys, or finds that the deployment is already done.
///
/// # Errors
/// Why it failed. What was begun is cleaned up, and the default is unchanged.
pub fn run(site: &Site, wanted: &Deploy) -> Result<Done, Reason> {
    vouched::check(site, wanted)?;
    let _held = lock::acquire(site)?;
    let current = site
        .current()
        .ok_or_else(|| site.broken("no deployment exists to merge /etc from"))?;
    let fingerprint = etc::fingerprint(site, &current)?;
    let there = again::up_to_date(site, wanted, &fingerprint);
    let made = match there {
        Some(deployment) => {
            // A run that was killed right after its swap has left what it replaced.
            sweep::clear(site)?;
            hold::hold(site)?;
            marks::forget_blessing(site, &deployment).map_err(|error| site.failed(&error))?;
            deployment
        }
        None => make(site, wanted, &current, &fingerprint)?,
    };
    let facts = finish(site, wanted, &made)?;
    // Write the note last. Without it the agent requests the deployment again, and the origin shows
    // whether it is up to date.
    etc::note(site, &wanted.commit, &fingerprint)?;
    Ok(Done::Deployed(facts))
}

fn make(
    site: &Site,
    wanted: &Deploy,
    current: &ostree::Deployment,
    fingerprint: &str,
) -> Result<ostree::Deployment, Reason> {
    site.report.progress(5, "clearing leftovers");
    sweep::clear(site)?;
    let tree = Tree::open(site, &wanted.commit)?;
    if tree.kernel().is_none() {
        // libostree reports a missing object with the same error code as a file of /etc that a
        // merge lost.
        let commit = wanted.commit.to_string();
        return Err(Reason::NoKernel { commit });
    }
    site.report
        .progress(10, "checking whether /etc can be merged");
    etc::check(site, &site.folder(current), &tree)?;
    accounts::check(&site.folder(current), &tree)?;
    make_room(site, &tree, &wanted.commit)?;
    hold::hold(site)?;
    site.report
        .progress(20, "checking out the image and merging /etc");
    let written = write::write(site, wanted, current, fingerprint);
    // The current menu shows what is left over, so nothing is removed on the basis of an outdated
    // one.
    if written.is_err() && site.sysroot.load(site.never()).is_ok() {
        // Report the first error. The next run removes what this clean-up leaves.
        let _ = sweep::clear(site);
    }
    written
}

/// Checks the room. If /boot is short, kept deployments are removed first.
fn make_room(site: &Site, tree: &Tree, commit: &Digest) -> Result<(), Reason> {
    let kernel = tree.kernel();
    let no_room = |place: &str, room: upgrade::image::Room| {
        let place = place.to_owned();
        if room.fits() {
            Ok(())
        } else {
            Err(Reason::NoRoom {
                place,
                need: room.need,
                free: room.free,
                inodes: false,
            })
        }
    };
    no_room(
        "the root file system",
        room::root(site, tree, kernel.as_ref(), tree)?,
    )?;
    no_room("/boot", room::boot(site, tree, kernel.as_ref())?)?;
    if room::boot_now(site, tree, kernel.as_ref())?.fits() {
        return Ok(());
    }
    site.report
        .progress(15, "removing the kept deployment to make room on /boot");
    write::drop_deployments(site, &room::makes_way(site, commit))
}

fn finish(site: &Site, wanted: &Deploy, made: &ostree::Deployment) -> Result<Deployment, Reason> {
    site.report
        .progress(90, "writing the list of critical files");
    let facts = site.facts(made)?;
    let files = critical::of(&Tree::open(site, &wanted.commit)?)?;
    critical::write(site, &files, &facts, &site.folder(made))?;
    site.report.progress(95, "flushing to disk");
    write::settle(site)?;
    Ok(facts)
}
