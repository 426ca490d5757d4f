//! Bounds what upgrades leave: the running deployment, the default and the pinned one stay, nothing else of ours.

use std::fs;

use ostree_ext::ostree;
use upgrade::Reason;
use upgrade::deploy::Done;

use crate::deploy::write;
use crate::lock;
use crate::site::Site;
use crate::undo;
use crate::verify::room;

/// Cleans.
///
/// # Errors
/// When libostree cannot write.
pub fn run(site: &Site) -> Result<Done, Reason> {
    let _held = lock::acquire(site)?;
    let unpinned = |deployment: &ostree::Deployment| !deployment.is_pinned();
    let going: Vec<_> = room::droppable(site).into_iter().filter(unpinned).collect();
    site.report.progress(10, format!("removing {} old deployments", going.len()));
    write::drop_deployments(site, &going)?;
    undo::release(site, None)?;
    remove_manifests(site)?;
    site.report.progress(50, "pruning the repository");
    site.sysroot.cleanup(site.never()).map_err(|error| site.failed(&error))?;
    Ok(Done::Cleaned)
}

/// Lists of critical files outlive their deployments no longer than until here.
fn remove_manifests(site: &Site) -> Result<(), Reason> {
    let Ok(entries) = fs::read_dir(site.state_dir()) else { return Ok(()) };
    let deployments = site.sysroot.deployments();
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let commit = name.strip_prefix("manifest-").and_then(|rest| rest.strip_suffix(".json"));
        if commit.is_some_and(|commit| deployments.iter().all(|deployment| deployment.csum() != commit)) {
            host::durable::remove(&path).map_err(|error| site.broken(error))?;
        }
    }
    Ok(())
}
