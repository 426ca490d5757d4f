//! Removes snapshots of forgotten upgrades: one that ended halted was never undone or cleaned up.

use upgrade::UpgradeId;

use super::folders::{all, remove, remove_tree, unfinished};
use super::owed::{owed, settle};
use crate::Places;
use crate::error::Result;

/// Removes all snapshots except that of this upgrade, which is in the record, and owed ones.
/// Without an upgrade it removes all that are not owed.
///
/// # Errors
/// The first snapshot that is still there.
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
/// The snapshot is still there.
pub fn forget(places: &Places, id: &UpgradeId) -> Result<()> {
    settle(places, id)?;
    remove(&places.snapshot(id))?;
    remove_tree(&unfinished(&places.snapshot(id)))
}
