//! What a control plane leaves in Careen's own folders, where no list leads.

use std::path::PathBuf;

use host::ledger::Ledger;
use upgrade::names;

use crate::error::Result;
use crate::paths::Paths;
use crate::pristine;

/// The snapshots of etcd, which contain all Secrets of the cluster, and the ledgers of manifests. A
/// ledger of a raise that was cut would write the old cluster's manifests back.
///
/// # Errors
/// A folder cannot be read.
pub fn left(paths: &Paths) -> Result<Vec<PathBuf>> {
    let snapshots = paths.below(names::ETCD_SNAPSHOTS);
    let ledgers = Ledger::all(&paths.places)?;
    let mut left: Vec<_> = ledgers.iter().map(|one| one.folder().to_owned()).collect();
    if !pristine::is_pristine(&paths.below("/etc"), &snapshots)? {
        left.push(snapshots);
    }
    Ok(left)
}
