//! The volumes that a drain waits for, as a file beside the record. An agent that starts again in
//! the wait sees none of them: the Node forgets a volume before it is detached.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use host::durable;
use serde::{Deserialize, Serialize};
use tracing::warn;
use upgrade::UpgradeId;

/// What is noted.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The upgrade whose drain it is.
    id: String,
    volumes: BTreeSet<String>,
}

/// The volumes that an earlier agent has noted in the same upgrade's drain.
pub(super) fn read(file: &Path, id: &UpgradeId) -> BTreeSet<String> {
    let text = fs::read(file).unwrap_or_default();
    let note = serde_json::from_slice::<Note>(&text).ok();
    let note = note.filter(|note| note.id == id.as_str());
    note.map_or_else(BTreeSet::new, |note| note.volumes)
}

pub(super) fn write(file: &Path, id: &UpgradeId, volumes: &BTreeSet<String>) {
    let note = Note {
        id: id.to_string(),
        volumes: volumes.clone(),
    };
    let text = serde_json::to_vec(&note).unwrap_or_default();
    if let Err(error) = durable::write(file, &text, 0o600) {
        warn!("cannot note the node's volumes: {error}");
    }
}

/// Once the wait is over.
pub(super) fn remove(file: &Path) {
    if let Err(error) = durable::remove(file) {
        warn!("cannot remove the note of the node's volumes: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_drain_of_the_same_upgrade_reads_its_volumes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("volumes.json");
        let (id, other): (UpgradeId, UpgradeId) = ("u1".parse().unwrap(), "u2".parse().unwrap());
        assert!(read(&file, &id).is_empty());
        let volumes = BTreeSet::from(["slow".to_owned()]);
        write(&file, &id, &volumes);
        assert_eq!(read(&file, &id), volumes);
        assert!(read(&file, &other).is_empty());
        fs::write(&file, "cut sh").unwrap();
        assert!(read(&file, &id).is_empty());
        remove(&file);
        assert!(!file.exists());
    }
}
