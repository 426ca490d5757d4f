//! Snapshots of upgrades that are forgotten: one that ended with a person looking at the node was never undone or cleaned up.

use upgrade::UpgradeId;

use super::folders::{all, remove, remove_tree, unfinished};
use super::owed::{owed, settle};
use crate::Places;
use crate::error::Result;

/// Removes all snapshots but that of this upgrade, which the record tells of, and those that are owed; without one all that are not owed.
///
/// # Errors
/// The first that is still there.
pub fn keep_only(places: &Places, id: Option<&UpgradeId>) -> Result<()> {
    for one in all(places)? {
        let is_kept = |found: &UpgradeId| Some(found) == id || owed(places, found).is_some();
        if !one.id.as_ref().is_some_and(is_kept) {
            remove(&one.folder)?;
        }
    }
    Ok(())
}

/// Removes the snapshot of an upgrade that is over.
///
/// # Errors
/// When it is still there.
pub fn forget(places: &Places, id: &UpgradeId) -> Result<()> {
    settle(places, id)?;
    remove(&places.snapshot(id))?;
    remove_tree(&unfinished(&places.snapshot(id)))
}
