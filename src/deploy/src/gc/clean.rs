//! The verb `clean`. The running deployment of this stateroot, the default and pinned ones stay.

use std::fs;

use host::Places;
use ostree_ext::ostree;
use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::{Reason, names};

use super::{layers, partial_pulls, refs, sweep, unfinished};
use crate::container::unpacked;
use crate::deploy::{hold, write};
use crate::lock;
use crate::site::Site;
use crate::verify::room;

/// Cleans.
///
/// # Errors
/// libostree cannot write.
pub fn run(site: &Site) -> Result<Done, Reason> {
    let _held = lock::acquire(site)?;
    let unpinned = |deployment: &ostree::Deployment| !deployment.is_pinned();
    let going: Vec<_> = room::droppable(site).into_iter().filter(unpinned).collect();
    site.report
        .progress(10, format!("removing {} old deployments", going.len()));
    write::drop_deployments(site, &going)?;
    hold::let_go(site)?;
    refs::remove(site, names::TARGET_REF, None)?;
    forget_gone(site)?;
    layers::release_gone(site)?;
    site.report.progress(50, "pruning the repository");
    sweep::clear_and_prune(site)?;
    partial_pulls::remove_among_objects(site)?;
    unpacked::clear(site)?;
    unfinished::settle_pruned(site)?;
    write::settle(site)?;
    Ok(Done::Cleaned)
}

/// Removes the notes about commits without a deployment.
fn forget_gone(site: &Site) -> Result<(), Reason> {
    let Ok(entries) = fs::read_dir(Places::physical(&site.path).state()) else {
        return Ok(());
    };
    let commits = entries
        .flatten()
        .filter_map(|entry| noted_commit(&entry.file_name().to_string_lossy()));
    commits
        .filter(|commit| refs::is_gone(site, commit))
        .try_for_each(|commit| site.forget(&commit))
}

/// The commit in the name of one of Careen's notes: `manifest-<commit>.json`, `etc-<commit>`,
/// `vouched-<commit>`, or a note that was being written.
fn noted_commit(name: &str) -> Option<Digest> {
    let name = name.strip_suffix(".new").unwrap_or(name);
    let manifest = name
        .strip_prefix("manifest-")
        .and_then(|rest| rest.strip_suffix(".json"));
    let mut others = ["etc-", host::verdict::PREFIX].into_iter();
    let commit = manifest.or_else(|| others.find_map(|prefix| name.strip_prefix(prefix)));
    commit?.parse().ok()
}
