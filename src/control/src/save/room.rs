//! Room for one more snapshot.

use upgrade::UpgradeId;
use upgrade::control_plane::{Refusal, Saving, Use, surplus, wanted};

use super::store::{FOLDER, Store};

/// Succeeds if there is room for a database of this size. Where it is short, older snapshots go
/// before the new one is made, but only if that is enough, and never the newest.
pub(super) fn make(store: &Store, size: u64, keep: usize) -> Result<Vec<UpgradeId>, Saving> {
    let missing = wanted(Use::Snapshot, size).saturating_sub(store.free()?);
    if missing == 0 {
        return Ok(Vec::new());
    }
    let older = surplus(store.kept(), keep.saturating_sub(1).max(1));
    let gain: u64 = older.iter().map(|id| store.size(id)).sum();
    if gain < missing {
        let path = FOLDER.into();
        return Err(Saving::Refused(Refusal::NoRoom { path, missing }));
    }
    for id in &older {
        store.remove(id)?;
    }
    Ok(older)
}
