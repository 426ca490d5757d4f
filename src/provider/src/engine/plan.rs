//! The id of a request. The same wish always has the same id, on every replica and after a restart.

use requests::ID_PREFIX;
use sha2::{Digest as _, Sha256};
use upgrade::{Target, UpgradeId};

use super::machine::Machine;

/// Bytes of the hash that are kept. They distinguish the wishes for one Machine over its life,
/// which are few.
const KEPT: usize = 8;

/// The id of the request that this Machine become `version` with `image`.
///
/// It includes the Machine's UID, so an answer copied from another Node, or given to a deleted
/// Machine of the same name, does not match. It includes the operator's [`crate::names::RETRY`], so
/// a new value makes a new request.
#[must_use]
pub fn upgrade_id(machine: &Machine, version: &str, image: &Target) -> Option<UpgradeId> {
    let mut hash = Sha256::new();
    let image = image.to_string();
    let retry = machine.retry.as_deref().unwrap_or_default();
    for part in [machine.uid.as_str(), version, &image, retry] {
        // The lengths distinguish ("ab", "c") from ("a", "bc").
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let hex: String = hash.finalize()[..KEPT]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{ID_PREFIX}{hex}").parse().ok()
}
